// Documents in rows: the body unparsed, the key, and META() where the query reads it.
import type { ReadOptions, StoredDocument } from '../datastore/documents.ts';
import type { Source } from '../plan/block.ts';
import { Binary, newObject, RawJson, setMember, type Value } from '../values/value.ts';
import type { Row } from './row.ts';
import type { Run } from './run.ts';

/** Which of a source's slots somebody reads. */
export interface DocumentNeeds {
  readonly body: boolean;
  readonly meta: boolean;
}

export function readOptions(run: Run, source: Source, needs: DocumentNeeds): ReadOptions {
  const { signal } = run.context;
  if (!needs.meta || source.xattrs.size === 0) return { signal };
  return { signal, xattrs: [...source.xattrs] };
}

export function setDocument(row: Row, source: Source, document: StoredDocument, needs: DocumentNeeds): void {
  if (needs.body) row[source.slot] = bodyOf(document);
  if (source.idSlot !== undefined) row[source.idSlot] = document.id;
  if (needs.meta && source.metaSlot !== undefined) row[source.metaSlot] = metaOf(document);
}

export function bodyOf({ bytes, isJson }: StoredDocument): Value {
  if (!isJson) return new Binary(bytes);
  let start = 0;
  let end = bytes.length;
  while (start < end && isSpace(bytes[start] as number)) start++;
  while (end > start && isSpace(bytes[end - 1] as number)) end--;
  return new RawJson(bytes, start, end);
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function metaOf(document: StoredDocument): Value {
  const meta = newObject();
  meta['cas'] = exactInteger(document.cas);
  meta['expiration'] = document.expiration;
  meta['flags'] = document.flags;
  meta['id'] = document.id;
  meta['type'] = document.isJson ? 'json' : 'base64';
  if (document.xattrs) {
    const xattrs = newObject();
    for (const [name, bytes] of document.xattrs) setMember(xattrs, name, new RawJson(bytes, 0, bytes.length));
    meta['xattrs'] = xattrs;
  }
  return meta;
}

function exactInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt.asIntN(64, value);
}
