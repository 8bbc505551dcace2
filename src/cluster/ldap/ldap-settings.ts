// The settings of the LDAP server that checks passwords of external users.

export const encryptions = ['None', 'StartTLSExtension', 'TLS'] as const;
export type Encryption = (typeof encryptions)[number];

/** How the account for queries logs in: with a name and a password, or by the client certificate (RFC 4422). */
export const bindMethods = ['Simple', 'SASL_EXTERNAL'] as const;
export type BindMethod = (typeof bindMethods)[number];

/** Maps a user's name to the distinguished name that logs in: `%u` stands for the name. */
export type DnMapping = { readonly template: string } | { readonly query: string };

export interface LdapSettings {
  authenticationEnabled: boolean;
  /** Groups of the LDAP server give the roles of groups that refer to them, also to users that are not stored. */
  authorizationEnabled: boolean;
  /** The groups of a user, or of a group if nested: `%u` stands for the name, `%D` for the distinguished name; empty: none. */
  groupsQuery: string;
  nestedGroupsEnabled: boolean;
  nestedGroupsMaxDepth: number;
  /** Whether groups nested deeper than the maximum fail the query; otherwise they are ignored. */
  failOnMaxDepth: boolean;
  hosts: readonly string[];
  port: number;
  encryption: Encryption;
  /** False: any certificate is accepted. */
  serverCertValidation: boolean;
  /** A certificate authority in PEM, in addition to those of the machine and of the cluster. */
  cacert: string;
  userDNMapping: DnMapping | Record<string, never>;
  /** The account that looks up names if the mapping is a query; empty: anonymous. */
  bindDN: string;
  bindPass: string;
  bindMethod: BindMethod;
  /** The certificate in PEM that this node shows to the LDAP server, and its private key; empty: none. */
  clientTLSCert: string;
  clientTLSKey: string;
  /** Milliseconds. */
  requestTimeout: number;
  maxParallelConnections: number;
  maxCacheSize: number;
  /** Milliseconds. */
  cacheValueLifetime: number;
}

export const defaultLdapSettings: LdapSettings = {
  authenticationEnabled: false,
  authorizationEnabled: false,
  groupsQuery: '',
  nestedGroupsEnabled: false,
  nestedGroupsMaxDepth: 10,
  failOnMaxDepth: false,
  hosts: [],
  port: 389,
  encryption: 'None',
  serverCertValidation: true,
  cacert: '',
  userDNMapping: {},
  bindDN: '',
  bindPass: '',
  bindMethod: 'Simple',
  clientTLSCert: '',
  clientTLSKey: '',
  requestTimeout: 5_000,
  maxParallelConnections: 100,
  maxCacheSize: 10_000,
  cacheValueLifetime: 300_000,
};
