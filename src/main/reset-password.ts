// `divan reset-password`: sets name and password of the administrator of a stopped node. It asks for no password: only the owner of
// the data folder can read and write it.
import { resolve } from 'node:path';
import { realKdf } from '#auth/kdf.host.ts';
import { passwordPolicySetting } from '#cluster/password-policy/password-policy.routes.ts';
import type { RoleTargets } from '#cluster/users/role-targets.ts';
import { createUsers } from '#cluster/users/users.feature.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import type { EmbeddedConfigStore } from '#replog/embedded-config-store.adapter.ts';
import { DataFolder } from './data-folder.ts';
import { lockDataFolder } from './lock-data-folder.ts';
import { MembershipFile } from './membership-file.ts';
import { openConfiguration } from './open-configuration.ts';
import { UsageError } from './options.ts';
import type { ResetPasswordOptions } from './reset-password-options.ts';
import { StartError } from './start-error.ts';

/** No role of the administrator names a bucket. */
const noTargets: RoleTargets = { bucket: () => null, onChange: () => ({ stop() {} }) };

/** Resolves with a message for the operator. Throws UsageError for a bad name or password, StartError for an unusable folder. */
export async function resetPassword(options: ResetPasswordOptions): Promise<string> {
  const path = resolve(options['data-dir']);
  if (!DataFolder.isNode(path)) throw new StartError(`--data-dir: there is no node in ${path}`);
  const membership = new MembershipFile(path);
  if (membership.natsMembership !== null)
    throw new StartError(
      `--data-dir: the accounts of the node in ${path} are on NATS servers, where this command changes nothing`,
    );
  if (!membership.isFounder)
    throw new StartError(
      `--data-dir: the node in ${path} is a member of a cluster, whose founder stores the accounts: stop the founder and use its folder`,
    );
  const lock = lockDataFolder(path);
  const store = openConfiguration(path);
  try {
    const name = await setAdministrator(store, options);
    DataFolder.open(path, realRandom).removeGeneratedAdministrator();
    return `The administrator of ${path} is "${name}" with the new password.\n`;
  } finally {
    await store[Symbol.asyncDispose]();
    lock.release();
  }
}

async function setAdministrator(
  store: EmbeddedConfigStore,
  { username, password }: ResetPasswordOptions,
): Promise<string> {
  const policy = passwordPolicySetting(store);
  await policy.start();
  const users = createUsers({
    store,
    kdf: realKdf,
    clock: realClock,
    random: realRandom,
    edition: 'enterprise',
    targets: noTargets,
    passwordPolicy: () => policy.value,
  });
  await users.start();
  try {
    const present = users.service.administratorName();
    if (present === null)
      throw new StartError('this node was never set up; start it with --username and --password');
    const name = username ?? present;
    const [problem] = Object.entries(users.service.administratorProblems(name, password));
    if (problem !== undefined) throw new UsageError(`--${problem[0]}: ${problem[1]}`);
    await users.service.setAdministrator(name, password);
    return name;
  } finally {
    users.stop();
    policy.stop();
  }
}
