// What the cluster keeps about security on the wire: choices for all services, and those of single services.
import type { TlsVersion } from '#ports/tls.ts';

export const services = [
  'data',
  'fullTextSearch',
  'index',
  'eventing',
  'query',
  'analytics',
  'backup',
  'clusterManager',
] as const;
export type ServiceName = (typeof services)[number];

export const tlsVersions = ['tlsv1', 'tlsv1.1', 'tlsv1.2', 'tlsv1.3'] as const;
export type TlsVersionName = (typeof tlsVersions)[number];

export const encryptionLevels = ['control', 'all', 'strict'] as const;
export type EncryptionLevel = (typeof encryptionLevels)[number];

/** Only what was chosen is there. */
export interface TlsChoices {
  tlsMinVersion?: TlsVersionName;
  /** IANA names, the preferred first; empty: what the runtime takes by itself. */
  cipherSuites?: readonly string[];
  honorCipherOrder?: boolean;
}

export interface SecurityState extends TlsChoices {
  disableUIOverHttp?: boolean;
  disableUIOverHttps?: boolean;
  disableWWWAuthenticate?: boolean;
  clusterEncryptionLevel?: EncryptionLevel;
  responseHeaders?: Readonly<Record<string, string>>;
  services: Readonly<Partial<Record<ServiceName, TlsChoices>>>;
}

export const noChoices: SecurityState = { services: {} };

export const defaults = {
  disableUIOverHttp: false,
  disableUIOverHttps: false,
  disableWWWAuthenticate: false,
  tlsMinVersion: 'tlsv1.2',
  cipherSuites: [],
  honorCipherOrder: true,
  clusterEncryptionLevel: 'control',
} as const;

/** What holds for all services that have not chosen otherwise. */
export const commonTls = ({ tlsMinVersion, cipherSuites, honorCipherOrder }: TlsChoices) => ({
  cipherSuites: cipherSuites ?? defaults.cipherSuites,
  tlsMinVersion: tlsMinVersion ?? defaults.tlsMinVersion,
  honorCipherOrder: honorCipherOrder ?? defaults.honorCipherOrder,
});

/** What holds for one service: its own choice, else that for all. */
export const effectiveTls = (state: SecurityState, service: ServiceName) =>
  commonTls({ ...commonTls(state), ...state.services[service] });

export const runtimeVersion: Readonly<Record<TlsVersionName, TlsVersion>> = {
  tlsv1: 'TLSv1',
  'tlsv1.1': 'TLSv1.1',
  'tlsv1.2': 'TLSv1.2',
  'tlsv1.3': 'TLSv1.3',
};

/** Whether a suite was chosen that proves who the server is, or agrees on a key, by RSA. */
export const wantsRsa = ({ cipherSuites = [], services: own }: SecurityState): boolean =>
  [...cipherSuites, ...Object.values(own).flatMap((choices) => choices.cipherSuites ?? [])].some((name) =>
    name.includes('_RSA_WITH_'),
  );
