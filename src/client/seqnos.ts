// The request for the seqnos of vbuckets, and the replies with seqnos and with failover logs.
import { GetAllVbSeqnos } from '#wire/commands/bucket.ts';
import type { RequestParts } from '#wire/output.ts';

/** The number of a vbucket (2 bytes) and its seqno (8 bytes). */
const vbSeqnoBytes = 10;
/** The uuid of a history and the seqno at which it began, 8 bytes each. */
const failoverEntryBytes = 16;

/** Requests the seqnos of the vbuckets that are active on the node. */
export function seqnosRequest(collectionId?: number): RequestParts {
  const activeOnly = 1;
  const extras = Buffer.alloc(collectionId === undefined ? 4 : 8);
  extras.writeUInt32BE(activeOnly);
  if (collectionId !== undefined) extras.writeUInt32BE(collectionId, 4);
  return { opcode: GetAllVbSeqnos.opcode, extras };
}

export function* seqnosIn(value: Buffer): Iterable<readonly [vb: number, seqno: number]> {
  for (let start = 0; start + vbSeqnoBytes <= value.length; start += vbSeqnoBytes)
    yield [value.readUInt16BE(start), Number(value.readBigUInt64BE(start + 2))];
}

/** The entries of a failover log, newest first. */
export function failoverEntries(value: Buffer): { uuid: bigint; seqno: number }[] {
  const entries = [];
  for (let start = 0; start + failoverEntryBytes <= value.length; start += failoverEntryBytes)
    entries.push({ uuid: value.readBigUInt64BE(start), seqno: Number(value.readBigUInt64BE(start + 8)) });
  return entries;
}
