// Parses scan vectors of at_plus: per vbucket the seqno that a scan must include, and the uuid of its history.
import { uint64OfText } from '#base/uint64-text.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { ScanVector, VectorEntry } from './query-request.ts';
import { jsonOf, type SentValue } from './sent-value.ts';

const vbucketsMax = 1024;

/** Parses `scan_vector`, for one keyspace. */
export function scanVectorOf(sent: SentValue): ScanVector | null {
  if (sent.value === '') return null;
  return vectorOf(sent.name, jsonOf(sent));
}

/** Parses `scan_vectors`, by keyspace. */
export function scanVectorsOf(sent: SentValue): ReadonlyMap<string, ScanVector> | null {
  if (sent.value === '') return null;
  const json = jsonOf(sent);
  if (!isObject(json)) throw sqlError(1070, sent.name, 'map of strings to vectors');
  const vectors = Object.entries(json).map(([name, vector]) => [name, vectorOf(name, vector)] as const);
  return vectors.length === 0 ? null : new Map(vectors);
}

/** An array of all vbuckets, or an object of some by their numbers. */
function vectorOf(name: string, json: unknown): ScanVector {
  if (!isObject(json) && !Array.isArray(json)) throw sqlError(1070, name, 'full or sparse vector');
  const entries = new Map<number, VectorEntry>();
  for (const [vb, entry] of Object.entries(json)) {
    if (!/^\d{1,4}$/.test(vb) || Number(vb) >= vbucketsMax)
      throw sqlError(
        1040,
        `${name}: ${JSON.stringify(vb)} is not a vbucket; vbuckets are 0 to ${vbucketsMax - 1}`,
      );
    entries.set(Number(vb), entryOf(entry));
  }
  return entries;
}

/** `[seqno, "uuid"]`, or an object of both. */
function entryOf(json: unknown): VectorEntry {
  const pair = isObject(json) ? [json['value'], json['guard']] : json;
  if (!Array.isArray(pair) || pair.length !== 2) throw sqlError(1140, JSON.stringify(json));
  const [seqno, uuid] = pair as unknown[];
  if (typeof seqno !== 'number' || !Number.isInteger(seqno) || seqno < 0)
    throw sqlError(1150, JSON.stringify(seqno));
  return { seqno, uuid: uuidOf(uuid) };
}

/** Empty: any history. */
function uuidOf(json: unknown): bigint {
  const uuid = typeof json === 'string' ? uint64OfText(json || '0') : null;
  if (uuid === null) throw sqlError(1155, JSON.stringify(json));
  return uuid;
}

const isObject = (json: unknown): json is Record<string, unknown> =>
  typeof json === 'object' && json !== null && !Array.isArray(json);
