// Where the passwords of external users are checked.

export const encryptions = ['None', 'StartTLSExtension', 'TLS'] as const;
export type Encryption = (typeof encryptions)[number];

/** How a user's name becomes the distinguished name that logs in: `%u` stands for the name. */
export type DnMapping = { readonly template: string } | { readonly query: string };

export interface LdapSettings {
  authenticationEnabled: boolean;
  hosts: readonly string[];
  port: number;
  encryption: Encryption;
  /** False: any certificate will do. */
  serverCertValidation: boolean;
  /** A certificate authority in PEM, besides those of the machine and of the cluster. */
  cacert: string;
  userDNMapping: DnMapping | Record<string, never>;
  /** Who looks names up where the mapping is a query; empty: nobody. */
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

/** Part of a distinguished name, so that a name cannot end it (RFC 4514). */
export const escapedDn = (text: string): string =>
  text.replaceAll(/[\\,+"<>;=#\0]|^ | $/g, (one) => `\\${one.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** Part of a filter (RFC 4515). */
export const escapedFilter = (text: string): string =>
  text.replaceAll(/[\\*()\0]/g, (one) => `\\${one.charCodeAt(0).toString(16).padStart(2, '0')}`);

export interface DnQuery {
  base: string;
  scope: 'base' | 'one' | 'sub';
  filter: string;
}

/** `base?attributes?scope?filter`, as in addresses of LDAP; null when it is none. */
export function parseDnQuery(query: string): DnQuery | null {
  const [base = '', , scope = '', filter = '(objectClass=*)', ...rest] = query.split('?');
  if (base === '' || rest.length > 0 || !['', 'base', 'one', 'sub'].includes(scope)) return null;
  return { base, scope: (scope === '' ? 'base' : scope) as DnQuery['scope'], filter };
}
