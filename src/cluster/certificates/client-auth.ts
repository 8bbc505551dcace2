// Client certificate settings: whether listeners request them, and which part of a certificate holds the user name.

import type { CertificateNameRule, CertificatePath, ClientCertificates } from '#ports/client-certificate.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { WatchedSetting } from '../config/watched-setting.ts';
import { certificateRefusals } from '../refusals/certificates.refusals.ts';

export interface ClientAuth {
  state: 'disable' | 'enable' | 'mandatory';
  prefixes: CertificateNameRule[];
}

const states = ['disable', 'enable', 'mandatory'];
const paths = ['subject.cn', 'san.uri', 'san.dnsname', 'san.email'];
const prefixesMax = 10;
const partLengthMax = 1_000;

export const clientAuthSetting = (store: ConfigStore): WatchedSetting<ClientAuth> =>
  new WatchedSetting<ClientAuth>(store, 'clientCertAuth', { state: 'disable', prefixes: [] });

/** The fields that this version knows: a later version may have stored more. */
export const ofThisVersion = ({ state, prefixes }: ClientAuth): ClientAuth => ({ state, prefixes });

/** The certificate request mode of listeners. */
export const clientCertificates = (
  { state, prefixes }: ClientAuth,
  authorities: readonly string[],
): ClientCertificates | undefined =>
  state === 'disable' ? undefined : { isDemanded: state === 'mandatory', authorities, names: prefixes };

/**
 * Reads a request; clients know the texts of the refusals. `isAllEncrypted`: whether the cluster's encryption level is `all` or `strict`, at which
 * published servers demand no certificates; conversely, no such level can be set while certificates are demanded.
 */
export function readClientAuth(body: string, { isAllEncrypted }: { isAllEncrypted: boolean }): ClientAuth {
  const sent = parsed(body);
  const { state, prefixes } = sent;
  if (state === undefined || prefixes === undefined) {
    throw certificateRefusals.clientAuthFormat();
  }
  if (Object.keys(sent).length > 2) {
    throw certificateRefusals.clientAuthFields();
  }
  if (!isText(state) || !Array.isArray(prefixes)) throw certificateRefusals.invalidJson();
  if (prefixes.length > prefixesMax) {
    throw certificateRefusals.tooManyPrefixes({ limit: prefixesMax });
  }
  const problems = [...stateProblems(state, prefixes.length), ...prefixes.flatMap(prefixProblems)];
  if (state === 'mandatory' && prefixes.length > 0 && isAllEncrypted) problems.push(notMandatory);
  if (problems.length === 0) problems.push(...repeated(prefixes as CertificateNameRule[]));
  if (problems.length > 0) throw certificateRefusals.invalidClientAuth(problems);
  return { state: state as ClientAuth['state'], prefixes: prefixes.map(ruleOf) };
}

function parsed(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    if (isRecord(value)) return value;
  } catch {
    // The same refusal as for JSON of another type.
  }
  throw certificateRefusals.invalidJson();
}

function stateProblems(state: string, prefixes: number): string[] {
  if (!states.includes(state)) return [`Invalid value '${state}' for key 'state'`];
  return state !== 'disable' && prefixes === 0
    ? [`'prefixes' cannot be empty when the 'state' is '${state}'`]
    : [];
}

/** The published text, which names one of the levels only. */
const notMandatory = "Cannot set 'state' to 'mandatory' when cluster encryption level has been set to 'all'";

function prefixProblems(prefix: unknown): string[] {
  const isWhole =
    isRecord(prefix) &&
    Object.keys(prefix).sort().join() === 'delimiter,path,prefix' &&
    Object.values(prefix).every((part) => isText(part) && part.length <= partLengthMax);
  if (!isWhole) {
    const prefixText = JSON.stringify(prefix).slice(0, 200);
    return [`Invalid prefixes entry (${prefixText}). Must contain 'path', 'prefix' & 'delimiter' fields.`];
  }
  const path = prefix['path'] as string;
  return paths.includes(path) ? [] : [`Invalid value '${path}' for key 'path'`];
}

function repeated(prefixes: readonly CertificateNameRule[]): string[] {
  const seen = new Set<string>();
  return prefixes.flatMap(({ path, prefix }) => {
    const key = JSON.stringify([path, prefix]);
    if (seen.has(key)) return [`Multiple entries with same path & prefix (${key}) are not allowed`];
    seen.add(key);
    return [];
  });
}

const ruleOf = (rule: Record<string, unknown>): CertificateNameRule => ({
  path: rule['path'] as CertificatePath,
  prefix: rule['prefix'] as string,
  delimiter: rule['delimiter'] as string,
});

const isText = (value: unknown): value is string => typeof value === 'string';
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
