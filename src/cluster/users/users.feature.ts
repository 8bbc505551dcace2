// Creates the parts of identities: storage, rules, routes, and the authority of the HTTP server.
//
//   const users = createUsers({ store, targets: targetsOf(view), kdf, clock, random, edition });
//   await users.start();
//   createHttpServer({ authority: users.authenticator, routes: [...users.routes, …], … });
//   new Agent({ users: users.identities, … });
//   await users.service.setAdministrator(name, password);   // POST /settings/web
import { Authenticator, type VerifyExternal } from '#auth/authenticator.ts';
import type { BoundRoute } from '#contract/route.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { type DirectoryUsers, Identities, type LimitsEnforcement } from './identities.ts';
import { identityRoutes } from './identity.routes.ts';
import { usersRoutes } from './users.routes.ts';
import { type UsersDeps, UsersService } from './users.service.ts';
import { UsersStore } from './users.store.ts';

export interface Users {
  readonly service: UsersService;
  /** All identities; the agent sends them to the data service. */
  readonly identities: Identities;
  readonly authenticator: Authenticator;
  readonly routes: readonly BoundRoute[];
  start(): Promise<void>;
  stop(): void;
}

export type UsersOptions = Omit<UsersDeps, 'store' | 'identities' | 'passwordSet'> & {
  readonly store: ConfigStore;
  readonly verifyExternal?: VerifyExternal;
  readonly directory?: DirectoryUsers;
  readonly enforcement?: LimitsEnforcement;
};

export function createUsers(options: UsersOptions): Users {
  const { kdf, clock, random, targets, edition } = options;
  const store = new UsersStore(options.store);
  const identities = new Identities(store, targets, options.directory, options.enforcement);
  const authenticator = new Authenticator({
    source: identities,
    kdf,
    clock,
    random,
    verifyExternal: options.verifyExternal,
    admitsUnknown: () => identities.admitsUnknown,
  });
  const service = new UsersService({
    ...options,
    store,
    identities,
    passwordSet: (name, credentialId, password) => authenticator.cachePassword(name, credentialId, password),
  });
  const deps = { service, identities, edition, targets, clock };
  return {
    service,
    identities,
    authenticator,
    routes: [...identityRoutes(deps), ...usersRoutes(deps)],
    start: () => store.start(),
    stop() {
      identities.stop();
      store.stop();
    },
  };
}
