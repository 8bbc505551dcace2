// The interface to an LDAP server, for logins and groups of external users.
import type { LdapSettings } from './ldap-settings.ts';

export type LoginOutcome =
  | { readonly kind: 'accepted'; readonly dn: string }
  | { readonly kind: 'refused'; readonly reason: string }
  /** No server could answer. */
  | { readonly kind: 'failed'; readonly reason: string };

export type GroupsOutcome =
  | { readonly kind: 'found'; readonly groups: readonly string[] }
  | { readonly kind: 'failed'; readonly reason: string };

/** Each LDAP request ends within the settings' request timeout, and each call within ten times that for each host. */
export interface DirectoryServer {
  login(settings: LdapSettings, name: string, password: string): Promise<LoginOutcome>;
  /** Distinguished names of the user's groups, by the groups query. */
  groups(settings: LdapSettings, name: string): Promise<GroupsOutcome>;
  /** Null if the server answered, otherwise the reason. */
  reach(settings: LdapSettings): Promise<string | null>;
}
