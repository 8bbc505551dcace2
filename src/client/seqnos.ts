// Requests and replies about the seqnos and histories of vbuckets.
import { GetAllVbSeqnos } from '#wire/commands/bucket.ts';
import type { RequestParts } from '#wire/output.ts';

/** A vbucket and its seqno. */
const seqnoBytes = 10;
/** A uuid and the seqno at which its history began. */
const entryBytes = 16;

/** Requests the seqnos of the vbuckets that are active on the node. */
export function seqnosRequest(collectionId?: number): RequestParts {
  const activeOnly = 1;
  const extras = Buffer.alloc(collectionId === undefined ? 4 : 8);
  extras.writeUInt32BE(activeOnly);
  if (collectionId !== undefined) extras.writeUInt32BE(collectionId, 4);
  return { opcode: GetAllVbSeqnos.opcode, extras };
}

export function* seqnosIn(value: Buffer): Iterable<readonly [vb: number, seqno: number]> {
  for (let start = 0; start + seqnoBytes <= value.length; start += seqnoBytes)
    yield [value.readUInt16BE(start), Number(value.readBigUInt64BE(start + 2))];
}

export function failoverEntries(value: Buffer): { uuid: bigint; seqno: number }[] {
  const entries = [];
  for (let start = 0; start + entryBytes <= value.length; start += entryBytes)
    entries.push({ uuid: value.readBigUInt64BE(start), seqno: Number(value.readBigUInt64BE(start + 8)) });
  return entries;
}
