// What logins of external users ask of the world: one question to an LDAP server.
import type { LdapSettings } from './ldap-settings.ts';

export type LoginOutcome =
  | { readonly kind: 'right'; readonly dn: string }
  | { readonly kind: 'wrong'; readonly reason: string }
  /** Nobody could answer. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Every call ends within the request timeout of the settings for each host. */
export interface DirectoryServer {
  login(settings: LdapSettings, name: string, password: string): Promise<LoginOutcome>;
  /** Null when the server answered, else why not. */
  reach(settings: LdapSettings): Promise<string | null>;
}
