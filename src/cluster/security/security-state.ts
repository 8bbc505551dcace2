// The cluster's TLS settings: choices for all services, and those of single services.
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

/** Only chosen values are present. */
export interface TlsChoices {
  tlsMinVersion?: TlsVersionName;
  /** IANA names in order of preference; empty: the runtime's default. */
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

/** The value for all services without a choice of their own. */
export const commonTls = ({ tlsMinVersion, cipherSuites, honorCipherOrder }: TlsChoices) => ({
  cipherSuites: cipherSuites ?? defaults.cipherSuites,
  tlsMinVersion: tlsMinVersion ?? defaults.tlsMinVersion,
  honorCipherOrder: honorCipherOrder ?? defaults.honorCipherOrder,
});

/** The value for one service: its own choice, otherwise that for all. */
export const effectiveTls = (state: SecurityState, service: ServiceName) =>
  commonTls({ ...commonTls(state), ...state.services[service] });

export const runtimeVersion: Readonly<Record<TlsVersionName, TlsVersion>> = {
  tlsv1: 'TLSv1',
  'tlsv1.1': 'TLSv1.1',
  'tlsv1.2': 'TLSv1.2',
  'tlsv1.3': 'TLSv1.3',
};

/** Whether a chosen suite uses RSA for authentication or key exchange. */
export const needsRsa = ({ cipherSuites = [], services: ofServices }: SecurityState): boolean =>
  [...cipherSuites, ...Object.values(ofServices).flatMap((choices) => choices.cipherSuites ?? [])].some(
    (name) => name.includes('_RSA_WITH_'),
  );
