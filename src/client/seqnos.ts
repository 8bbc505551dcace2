// Requests and replies about the seqnos and histories of vbuckets.
import { GetAllVbSeqnos } from '#wire/commands/bucket.ts';
import type { RequestParts } from '#wire/output.ts';

/** Of the vbuckets that are active on the node which is asked. */
export function seqnosRequest(collectionId?: number): RequestParts {
  const activeOnly = 1;
  const extras = Buffer.alloc(collectionId === undefined ? 4 : 8);
  extras.writeUInt32BE(activeOnly);
  if (collectionId !== undefined) extras.writeUInt32BE(collectionId, 4);
  return { opcode: GetAllVbSeqnos.opcode, extras };
}

export function* seqnosIn(value: Buffer): Iterable<readonly [vb: number, seqno: number]> {
  for (let at = 0; at + 10 <= value.length; at += 10)
    yield [value.readUInt16BE(at), Number(value.readBigUInt64BE(at + 2))];
}

export function failoverEntries(value: Buffer): { uuid: bigint; seqno: number }[] {
  const entries = [];
  for (let at = 0; at + 16 <= value.length; at += 16)
    entries.push({ uuid: value.readBigUInt64BE(at), seqno: Number(value.readBigUInt64BE(at + 8)) });
  return entries;
}
