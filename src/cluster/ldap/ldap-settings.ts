// The settings of the LDAP server that checks passwords of external users.

export const encryptions = ['None', 'StartTLSExtension', 'TLS'] as const;
export type Encryption = (typeof encryptions)[number];

/** Maps a user's name to the distinguished name that logs in: `%u` stands for the name. */
export type DnMapping = { readonly template: string } | { readonly query: string };

export interface LdapSettings {
  authenticationEnabled: boolean;
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
  requestTimeout: number;
  maxParallelConnections: number;
  maxCacheSize: number;
  cacheValueLifetime: number;
}

export const freshLdapSettings: LdapSettings = {
  authenticationEnabled: false,
  hosts: [],
  port: 389,
  encryption: 'None',
  serverCertValidation: true,
  cacert: '',
  userDNMapping: {},
  bindDN: '',
  bindPass: '',
  requestTimeout: 5_000,
  maxParallelConnections: 100,
  maxCacheSize: 10_000,
  cacheValueLifetime: 300_000,
};

/** Escapes a part of a distinguished name, so that a name cannot end it (RFC 4514). */
export const escapedDn = (text: string): string =>
  text.replaceAll(/[\\,+"<>;=#\0]|^ | $/g, (one) => `\\${one.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** Escapes a part of a filter (RFC 4515). */
export const escapedFilter = (text: string): string =>
  text.replaceAll(/[\\*()\0]/g, (one) => `\\${one.charCodeAt(0).toString(16).padStart(2, '0')}`);

export interface DnQuery {
  base: string;
  scope: 'base' | 'one' | 'sub';
  filter: string;
}

/** `base?attributes?scope?filter`, as in LDAP URLs; null if invalid. */
export function parseDnQuery(query: string): DnQuery | null {
  const [base = '', , scope = '', filter = '(objectClass=*)', ...rest] = query.split('?');
  if (base === '' || rest.length > 0 || !['', 'base', 'one', 'sub'].includes(scope)) return null;
  return { base, scope: (scope === '' ? 'base' : scope) as DnQuery['scope'], filter };
}
