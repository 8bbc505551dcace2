// TLS and security settings, for all services and for each. In a path, `part` is a service, or a setting for all services; `key` is a setting of
// that service.
import { type JsonSchema, shape } from '#contract/json-schema.ts';
import { type Access, defineRoute, type Method } from '#contract/route.ts';
import { securityPartShape, securityShape, securityValueShape } from './security.shapes.ts';
import {
  commonTls,
  defaults,
  type EncryptionLevel,
  effectiveTls,
  type SecurityState,
  services,
} from './security-state.ts';

const read: Access = { kind: 'permission', permission: 'cluster.admin.security!read' };
const write: Access = { kind: 'permission', permission: 'cluster.admin.security!write' };
const [all, part, key] = ['', '/:part', '/:part/:key'].map((rest) => `/settings/security${rest}`) as [
  string,
  string,
  string,
];

/** The answer to every change: an empty array. */
const emptyArray = shape.array(shape.any);

const route = (id: string, method: Method, path: string, json: JsonSchema, doc: string) =>
  defineRoute({
    id: `security.${id}`,
    method,
    path,
    access: method === 'GET' ? read : write,
    answer: { json },
    doc,
  });

export const GetSecurity = route(
  'read',
  'GET',
  all,
  securityShape,
  'TLS and security settings: those for all services, and those of each service.',
);
export const GetPart = route(
  'read_part',
  'GET',
  part,
  securityPartShape,
  'The settings of one service, or one setting for all services.',
);
export const GetKey = route('read_key', 'GET', key, securityValueShape, 'One setting of one service.');

/** Bodies are read as forms with any Content-Type. */
export const SetSecurity = defineRoute({
  id: 'security.set',
  method: 'POST',
  path: all,
  access: write,
  bodyKind: 'anyForm',
  answer: { json: emptyArray },
  doc: 'Changes TLS and security settings, those of a service as `data.tlsMinVersion`; all or none.',
});
export const SetPart = defineRoute({
  id: 'security.set_part',
  method: 'POST',
  path: part,
  access: write,
  bodyKind: 'raw',
  answer: { json: emptyArray },
  doc: 'Changes settings of one service by a form; for one setting for all services the body is the value.',
});
export const SetKey = defineRoute({
  id: 'security.set_key',
  method: 'POST',
  path: key,
  access: write,
  bodyKind: 'raw',
  answer: { json: emptyArray },
  doc: 'Changes one setting of one service; the body is the value.',
});

export const ResetSecurity = route(
  'reset',
  'DELETE',
  all,
  emptyArray,
  'Refused: the path must name the service or setting to reset.',
);
export const ResetPart = route(
  'reset_part',
  'DELETE',
  part,
  emptyArray,
  'Resets the settings of one service, or one setting for all services.',
);
export const ResetKey = route('reset_key', 'DELETE', key, emptyArray, 'Resets one setting of one service.');

export interface SecurityView {
  state: SecurityState;
  /** Null while traffic between nodes is not encrypted: then there is no level. */
  encryptionLevel: EncryptionLevel | null;
  supportedCipherSuites: readonly string[];
}

/** Whether other machines may upload a root certificate: a setting with its own route, shown with the security settings. */
export interface CertificateUpload {
  allowed(): Promise<boolean>;
}

export type SecurityRecord = Readonly<Record<string, unknown>>;

/** The answer with all settings; where a service has no setting of its own, its part shows the effective value. */
export function securityRecord(
  { state, encryptionLevel, supportedCipherSuites }: SecurityView,
  allowNonLocalCACertUpload: boolean,
): SecurityRecord {
  const serviceRecords = services.map((service) => [
    service,
    { ...effectiveTls(state, service), supportedCipherSuites },
  ]);
  return {
    disableUIOverHttp: state.disableUIOverHttp ?? defaults.disableUIOverHttp,
    disableUIOverHttps: state.disableUIOverHttps ?? defaults.disableUIOverHttps,
    disableWWWAuthenticate: state.disableWWWAuthenticate ?? defaults.disableWWWAuthenticate,
    responseHeaders: headersOf(state) ?? [],
    ...commonTls(state),
    ...(encryptionLevel !== null && { clusterEncryptionLevel: encryptionLevel }),
    allowNonLocalCACertUpload,
    ...Object.fromEntries(serviceRecords),
  };
}

/** Null if there are none; published clients expect an empty list then. */
export function headersOf({ responseHeaders = {} }: SecurityState): Readonly<Record<string, string>> | null {
  return Object.keys(responseHeaders).length > 0 ? responseHeaders : null;
}
