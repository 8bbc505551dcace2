// Encodes the values of sub-document replies directly into the output: one function returns the size, another writes.
//
//   multi lookup:             for each operation u16 status, u32 value bytes, value
//   multi mutation, stored:   for each operation that returns a value u8 index, u16 status, u32 value bytes, value
//   multi mutation, refused:  u8 index, u16 status of the first operation that failed; the reply's status is subdocMultiPathFailure
//   single path:              only the value
import { Status } from '#wire/status.ts';
import type { LookupOutcome, MutationOutcome } from './execute.ts';

/** Status and length of one result of a multi lookup. */
export const resultHeadBytes = 6;
/** Index and status of the operation that failed in a multi mutation. */
const refusalBytes = 3;
/** Index, status and length of one value of a multi mutation. */
const valueHeadBytes = 7;

export function writeResultHead(status: Status, value: Buffer, out: Buffer, at: number): number {
  return out.writeUInt32BE(value.length, out.writeUInt16BE(status, at));
}

/** Size of a multi lookup's reply. */
export function lookupReplyBytes(outcome: LookupOutcome): number {
  return outcome.results.reduce((bytes, { value }) => bytes + resultHeadBytes + value.length, 0);
}

/** Writes a multi lookup's reply; returns the position after it. */
export function writeLookupReply(outcome: LookupOutcome, out: Buffer, at: number): number {
  let to = at;
  for (const { status, value } of outcome.results) {
    to = writeResultHead(status, value, out, to);
    to += value.copy(out, to);
  }
  return to;
}

/** Size of a multi mutation's reply. */
export function mutationReplyBytes(outcome: MutationOutcome): number {
  if (outcome.status === Status.subdocMultiPathFailure) return refusalBytes;
  return outcome.values.reduce((bytes, { value }) => bytes + valueHeadBytes + value.length, 0);
}

/** Writes a multi mutation's reply; returns the position after it. */
export function writeMutationReply(outcome: MutationOutcome, out: Buffer, at: number): number {
  if (outcome.status === Status.subdocMultiPathFailure) {
    return out.writeUInt16BE(outcome.failedStatus, out.writeUInt8(outcome.failedIndex, at));
  }
  let to = at;
  for (const { index, value } of outcome.values) {
    to = out.writeUInt16BE(Status.success, out.writeUInt8(index, to));
    to = out.writeUInt32BE(value.length, to);
    to += value.copy(out, to);
  }
  return to;
}
