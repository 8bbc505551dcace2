// Reads the body of a restore request: from which backup to restore what, and into which cluster.

import { hostAndPortOf } from '#base/host-and-port.ts';
import { rfc3339Ms } from '#base/rfc3339.ts';
import type { NodeAccess } from '../node/backup-node.ts';
import type { SelectionRequest } from '../restore/document-selection.ts';
import type { RestoreRequest } from '../restore/run-restore.adapter.ts';
import { BodyError, bodyField, type FieldValue, readJsonBody } from './body-fields.ts';

const textMax = 100_000;
const text = bodyField.optional(bodyField.text(new RegExp(`^[^\\0]{0,${textMax}}$`, 's'), 'a text'));
const flag = bodyField.optional(bodyField.boolean);
/** All parameters of published clients. Those that exclude data which no backup has, such as views, are accepted and have no effect. */
const fields = {
  target: text,
  user: text,
  password: text,
  start: text,
  end: text,
  include_data: text,
  exclude_data: text,
  map_data: text,
  filter_keys: text,
  filter_values: text,
  force_updates: flag,
  auto_create_buckets: flag,
  auto_remove_collections: flag,
  enable_bucket_config: flag,
  disable_data: flag,
  disable_gsi_indexes: flag,
  disable_ft: flag,
  disable_views: flag,
  disable_analytics: flag,
  disable_eventing: flag,
  disable_cluster_query: flag,
  disable_bucket_query: flag,
  disable_cluster_analytics: flag,
  disable_ft_alias: flag,
  replace_ttl: bodyField.optional(bodyField.oneOf(['none', 'all', 'expired'])),
  replace_ttl_with: text,
};
type Sent = { [K in keyof typeof fields]: FieldValue<(typeof fields)[K]> };

export interface RestoreTarget extends Pick<NodeAccess, 'host' | 'port' | 'username' | 'password'> {
  readonly usesTls: boolean;
}

export interface RestoreCall {
  /** Null: this cluster, with the account of the service. */
  readonly target: RestoreTarget | null;
  readonly request: Omit<RestoreRequest, 'folder'>;
}

const restPort = 8091;
const restTlsPort = 18_091;
/** Schemes of addresses, and whether each means TLS. */
const schemes: ReadonlyMap<string, boolean> = new Map([
  ['http', false],
  ['couchbase', false],
  ['https', true],
  ['couchbases', true],
]);
const listMax = 1_000;

/** @throws BodyError that names the field */
export function readRestore(body: Buffer): RestoreCall {
  const sent = readJsonBody(body, fields);
  const selection = selectionOf(sent);
  return {
    target: targetOf(sent),
    request: {
      backup: nonEmpty(sent.end),
      start: nonEmpty(sent.start),
      ...(selection !== null && { selection }),
      buckets: [],
      includes: listOf(sent.include_data, 'include_data'),
      excludes: listOf(sent.exclude_data, 'exclude_data'),
      map: listOf(sent.map_data, 'map_data'),
      replaces: false,
      isForced: sent.force_updates ?? false,
      createsBuckets: sent.auto_create_buckets ?? false,
      removesCollections: sent.auto_remove_collections ?? false,
      appliesBucketSettings: sent.enable_bucket_config ?? false,
      withDocuments: !(sent.disable_data ?? false),
      withIndexes: !(sent.disable_gsi_indexes ?? false),
      resumes: false,
      awaitsDisk: false,
    },
  };
}

function targetOf({ target, user, password }: Sent): RestoreTarget | null {
  const address = nonEmpty(target);
  if (address === undefined) {
    if (nonEmpty(user) !== undefined || nonEmpty(password) !== undefined)
      throw new BodyError('target: is missing; user and password are those of a target');
    return null;
  }
  const [, scheme = 'http', rest = ''] = /^(?:([a-z]+):\/\/)?([^/?#@]+)\/?$/i.exec(address) ?? [];
  const usesTls = schemes.get(scheme.toLowerCase());
  if (rest === '' || usesTls === undefined)
    throw new BodyError(
      'target: must be the address of a node, such as http://127.0.0.1:8091 or https://node.example.com:18091',
    );
  if (user === undefined || password === undefined)
    throw new BodyError(`${user === undefined ? 'user' : 'password'}: is missing; a target needs both`);
  return { ...addressOf(rest, usesTls ? restTlsPort : restPort), username: user, password, usesTls };
}

function addressOf(text: string, port: number): { host: string; port: number } {
  const hasPort = /:\d+$/.test(text) && !/^[^[].*:.*:/.test(text);
  try {
    return hasPort ? hostAndPortOf(text) : { host: text.replace(/^\[|\]$/g, ''), port };
  } catch {
    throw new BodyError(`target: "${text}" is not a host with a port`);
  }
}

function selectionOf(sent: Sent): SelectionRequest | null {
  const { replace_ttl: replaceTtl = 'none' } = sent;
  const [filterKeys, filterValues] = [nonEmpty(sent.filter_keys), nonEmpty(sent.filter_values)];
  const replaceTtlWith = expiryOf(nonEmpty(sent.replace_ttl_with));
  if (replaceTtl === 'all' && replaceTtlWith === null)
    throw new BodyError('replace_ttl_with: is missing; replace_ttl "all" needs it');
  if (replaceTtl === 'none' && replaceTtlWith !== null)
    throw new BodyError('replace_ttl: must be all or expired where replace_ttl_with is sent');
  if (filterKeys === undefined && filterValues === undefined && replaceTtl === 'none') return null;
  return { filterKeys, filterValues, replaceTtl, replaceTtlWith: replaceTtlWith ?? 0 };
}

/** Seconds since 1970; 0: documents never expire; null: no expiry was sent. */
function expiryOf(sent: string | undefined): number | null {
  if (sent === undefined) return null;
  if (sent === '0') return 0;
  const seconds = Math.floor(rfc3339Ms(sent) / 1_000);
  if (seconds > 0 && seconds <= 0xffffffff) return seconds;
  throw new BodyError('replace_ttl_with: must be "0" or a time by RFC 3339, such as 2030-01-01T00:00:00Z');
}

const nonEmpty = (sent: string | undefined): string | undefined => (sent === '' ? undefined : sent);

function listOf(sent: string | undefined, name: string): string[] {
  const items = (sent ?? '').split(',').filter((item) => item !== '');
  if (items.length > listMax) throw new BodyError(`${name}: must have at most ${listMax} names`);
  return items;
}
