// Documents in rows: the body unparsed, the key, and META() where the query reads it.

import type { StoredDocument } from '../datastore/documents.ts';
import { integerValue } from '../values/arithmetic.ts';
import { valueAt } from '../values/json-scan.ts';
import { Binary, newObject, RawJson, setMember, type Value } from '../values/value.ts';

export function bodyOf(document: StoredDocument): Value {
  const { isJson, place } = document;
  if (!isJson) return new Binary(document.bytes);
  const bytes = place?.buffer ?? document.bytes;
  let start = place?.start ?? 0;
  let end = place?.end ?? bytes.length;
  while (start < end && isSpace(bytes[start] as number)) start++;
  while (end > start && isSpace(bytes[end - 1] as number)) end--;
  return new RawJson(bytes, start, end);
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function metaOf(document: StoredDocument): Value {
  const meta = newObject();
  meta['cas'] = casValue(document.cas);
  meta['expiration'] = document.expiration;
  meta['flags'] = document.flags;
  meta['id'] = document.id;
  meta['type'] = document.isJson ? 'json' : 'base64';
  if (document.xattrs !== undefined && document.xattrs.size > 0) {
    const xattrs = newObject();
    for (const [name, bytes] of document.xattrs) setMember(xattrs, name, valueAt(bytes, 0, bytes.length));
    meta['xattrs'] = xattrs;
  }
  return meta;
}

/** The value of a CAS in statements: an integer of 64 bits with a sign. */
export const casValue = (cas: bigint): number | bigint => integerValue(BigInt.asIntN(64, cas));
