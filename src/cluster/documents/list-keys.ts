// Reads a page of the keys of a collection: every vbucket that has had documents of the collection returns its first keys.
import type { BucketClient } from '#client/bucket-client.ts';
import { StatusError } from '#client/data-port-error.ts';
import { pipelined } from '#client/pipelined.ts';
import { collectionIdBytes, writeCollectionId } from '#wire/collection-id.ts';
import { GetKeys } from '#wire/commands/bucket.ts';
import { responseStatus } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';
import { KeyPage } from './key-page.ts';
import type { DocumentPageQuery } from './page-query.ts';

/** The limit of all outstanding replies, from which `vbucketsAtOnce` follows. */
const repliesBytesMax = 4 << 20;
/** A key in a reply: two bytes of length, then the key with its collection id. */
const keyBytesMax = 2 + 255;
const vbucketsMax = 64;

export async function listKeys(
  client: BucketClient,
  collectionId: number,
  page: DocumentPageQuery,
  signal: AbortSignal,
): Promise<string[]> {
  const count = page.skip + page.limit;
  if (count === 0) return [];
  const seqnos = await client.highSeqnos(collectionId);
  const vbuckets = [...seqnos.keys()].filter((vb) => seqnos[vb] !== 0);
  const prefixBytes = collectionIdBytes(collectionId);
  const prefix = Buffer.alloc(prefixBytes);
  writeCollectionId(prefix, 0, collectionId);
  const key = Buffer.concat([prefix, page.startKey]);
  const extras = Buffer.alloc(4);
  extras.writeUInt32BE(count);
  const keys = new KeyPage(count, (candidate) => isBeforeEnd(candidate, page));
  const vbucketsAtOnce = Math.min(
    vbucketsMax,
    Math.max(1, Math.floor(repliesBytesMax / (count * keyBytesMax))),
  );
  let failure: number = Status.success;
  for (let at = 0; at < vbuckets.length; at += vbucketsAtOnce) {
    const some = vbuckets.slice(at, at + vbucketsAtOnce);
    await pipelined(client.connection, {
      count: some.length,
      signal,
      request: (index) => ({ opcode: GetKeys.opcode, vb: some[index] as number, key, extras }),
      receive(_, frame) {
        const { buffer, valueStart, end } = frame;
        const status = responseStatus(frame);
        if (status !== Status.success) failure = status;
        else keys.addKeysOf(Buffer.from(buffer.subarray(valueStart, end)), prefixBytes);
      },
    });
    if (failure !== Status.success) throw new StatusError(GetKeys.opcode, failure);
    keys.trim();
  }
  return keys.names(page.skip);
}

function isBeforeEnd(key: Buffer, { endKey, includesEnd }: DocumentPageQuery): boolean {
  if (endKey === null) return true;
  const order = key.compare(endKey);
  return includesEnd ? order <= 0 : order < 0;
}
