// Values as clients send and want them: compressed or not, with extended attributes in front or not, JSON or not.
import { writeU32 } from '#wire/bytes.ts';
import { Feature } from '#wire/features.ts';
import { snappyInflate, snappyLength } from '#wire/snappy.ts';
import { Datatype, Status } from '#wire/status.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import { Privilege } from '../admin.ts';
import type { ItemView, StoredDocument } from '../data/documents.ts';
import { beginReply, shownCasHi, shownCasLo } from '../dispatch/reply.ts';
import { Outcome, type Request } from '../dispatch/request.ts';
import { isJson } from '../value/json.ts';
import { bodyBytesLimit, isXattrs, systemXattrBytes, xattrBytesLimit } from '../value/xattrs.ts';

export const valueBytesMax = bodyBytesLimit + xattrBytesLimit;

/** A range of bytes; one for the thread, filled again by each call below. */
export interface ValueRange {
  buffer: Buffer;
  start: number;
  end: number;
}
const range: ValueRange = { buffer: Buffer.alloc(0), start: 0, end: 0 };

function setRange(buffer: Buffer, start: number, end: number): ValueRange {
  range.buffer = buffer;
  range.start = start;
  range.end = end;
  return range;
}

/** The stored value, inflated. */
export function plainValue(view: StoredDocument): ValueRange {
  if ((view.datatype & Datatype.snappy) === 0) return setRange(view.buffer, view.valueStart, view.valueEnd);
  const inflated =
    snappyInflate(view.buffer, view.valueStart, view.valueEnd, valueBytesMax) ?? Buffer.alloc(0);
  return setRange(inflated, 0, inflated.length);
}

/** Where the body of an inflated value starts. */
export const bodyOf = (view: StoredDocument, value: ValueRange): number =>
  (view.datatype & Datatype.xattr) === 0 ? value.start : bodyStart(value.buffer, value.start, value.end);

/** Answers the document in the view: flags and body, with its key where wanted. */
export function replyDocument(request: Request, view: ItemView, keyBytes = 0): Outcome {
  const { session } = request;
  let { datatype } = view;
  let { buffer } = view;
  let start = view.valueStart;
  let end = view.valueEnd;
  const mayCompress = session.features[Feature.snappy] === 1 && (datatype & Datatype.xattr) === 0;
  if ((datatype & Datatype.xattr) !== 0 || ((datatype & Datatype.snappy) !== 0 && !mayCompress)) {
    const value = plainValue(view);
    buffer = value.buffer;
    start = bodyOf(view, value);
    end = value.end;
    datatype &= Datatype.json;
  }
  if (session.features[Feature.json] !== 1) datatype &= ~Datatype.json;
  const bytes = end - start;
  const at = beginReply(request, 4, keyBytes, bytes, datatype, shownCasHi(view), shownCasLo(view));
  const { output, frame } = request;
  writeU32(output.buffer, at, view.flags);
  if (keyBytes > 0) frame.buffer.copy(output.buffer, at + 4, frame.keyStart, frame.valueStart);
  buffer.copy(output.buffer, at + 4 + keyBytes, start, end);
  return Outcome.replied;
}

/** The checked value of a SET, ADD or REPLACE, put into the request's mutation. */
export function takeValue(request: Request, end = request.frame.end): Status {
  const { frame, mutation } = request;
  mutation.value = frame.buffer;
  mutation.valueStart = frame.valueStart;
  mutation.valueEnd = end;
  const typed = frame.datatype & (Datatype.snappy | Datatype.xattr);
  if (typed !== 0) return takeTypedValue(request, typed, end);
  if (end - frame.valueStart > bodyBytesLimit) return Status.tooBig;
  mutation.datatype = isJson(frame.buffer, frame.valueStart, end) ? Datatype.json : Datatype.raw;
  return Status.success;
}

function takeTypedValue(request: Request, typed: number, end: number): Status {
  const { frame, mutation, bucket } = request;
  const plain = setRange(frame.buffer, frame.valueStart, end);
  if ((typed & Datatype.snappy) !== 0) {
    const status = inflate(request, plain);
    if (status !== Status.success) return status;
  }
  const status = checkSections(request, typed, plain);
  if (status !== Status.success) return status;
  const body = (typed & Datatype.xattr) === 0 ? plain.start : bodyStart(plain.buffer, plain.start, plain.end);
  const json = isJson(plain.buffer, body, plain.end) ? Datatype.json : Datatype.raw;
  const keepsBlock = (typed & Datatype.snappy) !== 0 && bucket.spec.compressionMode !== 'off';
  mutation.datatype = json | (keepsBlock ? typed : typed & ~Datatype.snappy);
  if (keepsBlock) return Status.success;
  mutation.value = plain.buffer;
  mutation.valueStart = plain.start;
  mutation.valueEnd = plain.end;
  return Status.success;
}

/** Replaces the block by what it holds; its claimed size is looked at first. */
export function inflate(request: Request, value: ValueRange): Status {
  const claimed = snappyLength(value.buffer, value.start, value.end);
  if (claimed > valueBytesMax) return Status.tooBig;
  const inflated = claimed < 0 ? null : snappyInflate(value.buffer, value.start, value.end, valueBytesMax);
  if (!inflated) return request.refuse(Status.invalidArguments, 'Failed to inflate payload');
  value.buffer = inflated;
  value.start = 0;
  value.end = inflated.length;
  return Status.success;
}

function checkSections(request: Request, typed: number, plain: ValueRange): Status {
  if ((typed & Datatype.xattr) === 0) {
    return plain.end - plain.start > bodyBytesLimit ? Status.tooBig : Status.success;
  }
  if (!isXattrs(plain.buffer, plain.start, plain.end)) {
    return request.refuse(Status.xattrInvalid, 'The extended attributes are not well-formed');
  }
  const system = systemXattrBytes(plain.buffer, plain.start, plain.end);
  if (system > 0 && (request.privileges & Privilege.systemXattrWrite) === 0) {
    return request.refuse(Status.noAccess, 'Requires privilege: SystemXattrWrite');
  }
  const isTooBig = system > xattrBytesLimit || plain.end - plain.start - system > bodyBytesLimit;
  return isTooBig ? Status.tooBig : Status.success;
}
