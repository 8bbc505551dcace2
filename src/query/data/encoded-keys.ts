// Document keys as requests for batches contain them.
import { assert } from '#base/assert.ts';
import { vbucketOf, vbucketOfBytes } from '#client/document-key.ts';
import { collectionIdBytes, keyBytesMax, writeCollectionId } from '#wire/collection-id.ts';
import { type KeysRequest, keyHeadBytes } from '#wire/document-batch.ts';

/** The most bytes that a UTF-16 unit of an id takes in UTF-8. */
const characterBytesMax = 3;
/** The longest key that the length field of two bytes can describe. */
const encodedBytesMax = 0xffff;

/** Whether a document can have this id. */
export const isDocumentId = (id: string): boolean =>
  id.length > 0 &&
  (id.length * characterBytesMax <= keyBytesMax.inDefault || Buffer.byteLength(id) <= keyBytesMax.inDefault);

export function encodedKeys(collection: number, ids: readonly string[]): KeysRequest['keys'] {
  return asciiKeys(collection, ids) ?? unicodeKeys(collection, ids);
}

/** Writes keys at `at` and returns where they end; null if they may not fit. */
export function writeKeys(
  target: Buffer,
  at: number,
  collection: number,
  ids: readonly string[],
): number | null {
  let characters = 0;
  for (const id of ids) characters += id.length;
  const bytesMax =
    characters * characterBytesMax + ids.length * (keyHeadBytes + collectionIdBytes(collection));
  if (at + bytesMax > target.length) return null;
  return writeAsciiKeys(target, at, collection, ids) ?? writeUnicodeKeys(target, at, collection, ids);
}

/** null: not all ids are ASCII, as they nearly always are. */
function asciiKeys(collection: number, ids: readonly string[]): KeysRequest['keys'] | null {
  const idBytes = collectionIdBytes(collection);
  let size = 0;
  for (const id of ids) size += keyHeadBytes + idBytes + id.length;
  const keys = Buffer.allocUnsafeSlow(size);
  return writeAsciiKeys(keys, 0, collection, ids) === null ? null : keys;
}

/** Encodes the ids here, since a call of a native function would take longer than encoding one. */
function writeAsciiKeys(
  keys: Buffer,
  from: number,
  collection: number,
  ids: readonly string[],
): number | null {
  let at = from;
  for (const id of ids) {
    const keyAt = writeCollectionId(keys, at + keyHeadBytes, collection);
    const end = keyAt + id.length;
    for (let index = 0; index < id.length; index++) {
      const code = id.charCodeAt(index);
      if (code > 0x7f) return null;
      keys[keyAt + index] = code;
    }
    const vb = vbucketOfBytes(keys, keyAt, end);
    const bytes = end - at - keyHeadBytes;
    // With a truncated length the data service would read the rest of the id as further keys, of any collection.
    assert(bytes <= encodedBytesMax, 'a document id is longer than its length field can describe');
    keys[at] = vb >> 8;
    keys[at + 1] = vb;
    keys[at + 2] = bytes >> 8;
    keys[at + 3] = bytes;
    at = end;
  }
  return at;
}

function unicodeKeys(collection: number, ids: readonly string[]): KeysRequest['keys'] {
  const idBytes = collectionIdBytes(collection);
  let size = 0;
  for (const id of ids) size += keyHeadBytes + idBytes + Buffer.byteLength(id);
  const keys = Buffer.allocUnsafeSlow(size);
  writeUnicodeKeys(keys, 0, collection, ids);
  return keys;
}

function writeUnicodeKeys(keys: Buffer, from: number, collection: number, ids: readonly string[]): number {
  let at = from;
  for (const id of ids) {
    const keyAt = writeCollectionId(keys, at + keyHeadBytes, collection);
    const end = keyAt + keys.write(id, keyAt);
    keys.writeUInt16BE(vbucketOf(id), at);
    keys.writeUInt16BE(end - at - keyHeadBytes, at + 2);
    at = end;
  }
  return at;
}
