// Checks the names and types of the options of startNode(). The node checks their contents, such as names of buckets.
import { nearest } from '#base/nearest.ts';
import type { PortOptions, StartNodeOptions } from './types.ts';

/** The option of `divan node` for each port. */
export const portFlags: Readonly<Record<keyof PortOptions, string>> = {
  rest: 'rest-port',
  restTls: 'rest-tls-port',
  kv: 'kv-port',
  kvTls: 'kv-tls-port',
  query: 'query-port',
  queryTls: 'query-tls-port',
  index: 'index-port',
  indexTls: 'index-tls-port',
  backup: 'backup-port',
  backupTls: 'backup-tls-port',
};

type Check = (value: unknown) => string | null;

const isText: Check = (value) =>
  typeof value === 'string' ? null : `must be a string, not ${jsonOf(value)}`;
const isList: Check = (value) => (Array.isArray(value) ? null : `must be an array, not ${jsonOf(value)}`);
const isCount: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) > 0
    ? null
    : `must be a positive integer, not ${jsonOf(value)}`;

const checks: Readonly<Record<keyof StartNodeOptions, Check>> = {
  username: isText,
  password: isText,
  buckets: isList,
  users: isList,
  statements: isList,
  services: isList,
  memoryQuotaMB: isCount,
  edition: isText,
  host: isText,
  ports: (value) => (isRecord(value) ? null : `must be an object, not ${jsonOf(value)}`),
  startMs: isCount,
};

/** @throws TypeError that names the option and the values that it accepts */
export function checkOptions(options: StartNodeOptions): void {
  if (!isRecord(options))
    throw new TypeError(`startNode: the options must be an object, not ${jsonOf(options)}`);
  checkNames(options, Object.keys(checks), '');
  for (const [name, value] of Object.entries(options)) {
    const problem = value === undefined ? null : checks[name as keyof StartNodeOptions](value);
    if (problem !== null) throw new TypeError(`startNode: ${name}: ${problem}`);
  }
  const { ports = {} } = options;
  checkNames(ports, Object.keys(portFlags), 'ports.');
  for (const [name, port] of Object.entries(ports))
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw new TypeError(`startNode: ports.${name}: must be a port from 0 to 65535, not ${jsonOf(port)}`);
}

function checkNames(options: object, names: readonly string[], prefix: string): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const similar = nearest(unknown, names);
  const hint = similar === null ? `the options are ${names.join(', ')}` : `did you mean ${prefix}${similar}?`;
  throw new TypeError(`startNode: unknown option ${prefix}${unknown}; ${hint}`);
}

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const jsonOf = (value: unknown): string => JSON.stringify(value) ?? String(value);
