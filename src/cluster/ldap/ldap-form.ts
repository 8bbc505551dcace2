// The form of the LDAP settings: sent fields replace the stored ones; the refusal names all problems.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { integerOf } from '#base/decimal.ts';
import { fieldText } from '#contract/field-text.ts';
import type { Form } from '#contract/route.ts';
import { Problems } from '../forms/problems.ts';
import { parseDnQuery, parseGroupsQuery } from './ldap-queries.ts';
import { bindMethods, type DnMapping, encryptions, type LdapSettings } from './ldap-settings.ts';

const hostsMax = 16;
const textBytesMax = 1_024;
const certificateBytesMax = 64 << 10;
const ranges = {
  port: [0, 65_535],
  requestTimeout: [1, 60_000],
  maxParallelConnections: [1, 1_000],
  nestedGroupsMaxDepth: [1, 100],
  maxCacheSize: [0, 10_000],
  cacheValueLifetime: [0, 2 ** 31 - 1],
} as const satisfies Partial<Record<keyof LdapSettings, readonly [number, number]>>;

/** `others`: names of further fields that the form may have. */
export function readLdapForm(form: Form, others: readonly string[] = []): Partial<LdapSettings> {
  const problems = new Problems();
  const changes: Partial<LdapSettings> = {};
  for (const name of Object.keys(form))
    if (!Object.hasOwn(readers, name) && !others.includes(name)) problems.add(name, fieldText.unsupported);
  for (const [name, read] of Object.entries(readers)) {
    const sent = form[name];
    const outcome = sent === undefined ? { changes: {} } : read(sent);
    if ('problem' in outcome) problems.add(name, outcome.problem);
    else Object.assign(changes, outcome.changes);
  }
  problems.refuseIfInvalid();
  return changes;
}

/** Refuses settings that contradict each other, before they are stored or tried. */
export function checkLdap(settings: LdapSettings): void {
  const { bindMethod, clientTLSCert, clientTLSKey, encryption } = settings;
  const problems = new Problems();
  if (clientTLSCert !== '' || clientTLSKey !== '') {
    if (clientTLSCert === '') problems.add('clientTLSCert', 'must be given with clientTLSKey');
    else if (clientTLSKey === '') problems.add('clientTLSKey', 'must be given with clientTLSCert');
    else problems.addAll(problemsOfPair(clientTLSCert, clientTLSKey));
  } else if (bindMethod === 'SASL_EXTERNAL')
    problems.add('bindMethod', 'SASL_EXTERNAL needs clientTLSCert and clientTLSKey');
  if (bindMethod === 'SASL_EXTERNAL' && encryption === 'None')
    problems.add('encryption', 'must be StartTLSExtension or TLS with SASL_EXTERNAL');
  problems.refuseIfInvalid();
}

function problemsOfPair(certificate: string, key: string): Record<string, string> {
  let parsed: X509Certificate;
  try {
    parsed = new X509Certificate(certificate);
  } catch {
    return { clientTLSCert: 'must be a certificate in PEM' };
  }
  try {
    if (parsed.checkPrivateKey(createPrivateKey(key))) return {};
  } catch {
    return { clientTLSKey: 'must be a private key in PEM without a passphrase' };
  }
  return { clientTLSKey: 'must be the key of clientTLSCert' };
}

type FieldReader = (sent: string) => { changes: Partial<LdapSettings> } | { problem: string };

type FlagName =
  | 'authenticationEnabled'
  | 'authorizationEnabled'
  | 'serverCertValidation'
  | 'nestedGroupsEnabled'
  | 'failOnMaxDepth';

const flag =
  (name: FlagName): FieldReader =>
  (sent) =>
    sent === 'true' || sent === 'false'
      ? { changes: { [name]: sent === 'true' } }
      : { problem: fieldText.oneOf(['true', 'false']) };

const number =
  (name: keyof typeof ranges): FieldReader =>
  (sent) => {
    const [min, max] = ranges[name];
    const value = integerOf(sent);
    if (value === null) return { problem: fieldText.integer };
    return value >= min && value <= max
      ? { changes: { [name]: value } }
      : { problem: fieldText.range(min, max) };
  };

const text =
  (
    name: 'bindDN' | 'bindPass' | 'cacert' | 'clientTLSCert' | 'clientTLSKey',
    bytesMax: number,
  ): FieldReader =>
  (sent) =>
    Buffer.byteLength(sent) <= bytesMax && !sent.includes('\0')
      ? { changes: { [name]: sent } }
      : { problem: `must be a string of at most ${bytesMax} bytes` };

const readers: Readonly<Record<string, FieldReader>> = {
  authenticationEnabled: flag('authenticationEnabled'),
  serverCertValidation: flag('serverCertValidation'),
  authorizationEnabled: flag('authorizationEnabled'),
  nestedGroupsEnabled: flag('nestedGroupsEnabled'),
  failOnMaxDepth: flag('failOnMaxDepth'),
  groupsQuery: readGroupsQuery,
  hosts: readHosts,
  encryption(sent) {
    const encryption = encryptions.find((candidate) => candidate === sent);
    return encryption ? { changes: { encryption } } : { problem: fieldText.oneOf(encryptions) };
  },
  userDNMapping(sent) {
    const read = readMapping(sent);
    return 'problem' in read ? read : { changes: { userDNMapping: read.mapping } };
  },
  bindDN: text('bindDN', textBytesMax),
  bindPass: text('bindPass', textBytesMax),
  cacert: text('cacert', certificateBytesMax),
  bindMethod(sent) {
    const bindMethod = bindMethods.find((candidate) => candidate === sent);
    return bindMethod ? { changes: { bindMethod } } : { problem: fieldText.oneOf(bindMethods) };
  },
  clientTLSCert: text('clientTLSCert', certificateBytesMax),
  clientTLSKey: text('clientTLSKey', certificateBytesMax),
  port: number('port'),
  requestTimeout: number('requestTimeout'),
  maxParallelConnections: number('maxParallelConnections'),
  nestedGroupsMaxDepth: number('nestedGroupsMaxDepth'),
  maxCacheSize: number('maxCacheSize'),
  cacheValueLifetime: number('cacheValueLifetime'),
};

function readHosts(sent: string): ReturnType<FieldReader> {
  const hosts = sent
    .split(',')
    .map((part) => part.trim().replace(/^\[(.*)\]$/, '$1'))
    .filter((part) => part !== '');
  const isValid = hosts.length <= hostsMax && hosts.every((host) => /^[\w.:-]{1,253}$/.test(host));
  return isValid
    ? { changes: { hosts } }
    : { problem: `must be up to ${hostsMax} names or addresses separated by commas` };
}

function readGroupsQuery(sent: string): ReturnType<FieldReader> {
  if (Buffer.byteLength(sent) > textBytesMax) return { problem: `must have at most ${textBytesMax} bytes` };
  const parsed = sent === '' ? null : parseGroupsQuery(sent);
  return parsed && 'problem' in parsed ? parsed : { changes: { groupsQuery: sent } };
}

function readMapping(sent: string): { mapping: DnMapping | Record<string, never> } | { problem: string } {
  if (sent === '' || sent === 'None') return { mapping: {} };
  let parsed: unknown;
  try {
    parsed = JSON.parse(sent);
  } catch {
    return { problem: 'Invalid JSON' };
  }
  const { template, query } = (parsed ?? {}) as { template?: unknown; query?: unknown };
  const value = template ?? query;
  if (typeof value !== 'string' || (template !== undefined && query !== undefined))
    return { problem: 'JSON object must contain either query or template' };
  if (!value.includes('%u')) return { problem: 'Template or query should contain at least one %u' };
  if (Buffer.byteLength(value) > textBytesMax) return { problem: `must have at most ${textBytesMax} bytes` };
  if (template !== undefined) return { mapping: { template: value } };
  return parseDnQuery(value) ? { mapping: { query: value } } : { problem: `Invalid LDAP query '${value}'.` };
}
