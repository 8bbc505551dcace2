// Converts values between the stored form and the negotiated one: compression, extended attributes, JSON flag.
import { writeU32 } from '#wire/bytes.ts';
import { Feature } from '#wire/features.ts';
import { packedBytesMax, snappyInflate, snappyLength } from '#wire/snappy.ts';
import { Datatype, Status } from '#wire/status.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import { Privilege } from '../admin.ts';
import {
  type ItemView,
  type MutationRequest,
  ownMemoryBytes,
  type StoredDocument,
} from '../data/documents.ts';
import { beginReply, clientCasHi, clientCasLo } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import { heavyBytes, type ValidatedValue } from '../heavy/jobs.ts';
import { headerBytes } from '../memory/layout.ts';
import { isJson } from '../value/json.ts';
import { type ValueValidation, validateValue, valueBytesMax } from '../value/validate-value.ts';

/** A range of bytes. One shared object, overwritten by each call below. */
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
export function plainValue(view: StoredDocument, request?: Request): ValueRange {
  if ((view.datatype & Datatype.snappy) === 0) return setRange(view.buffer, view.valueStart, view.valueEnd);
  const inflated =
    snappyInflate(view.buffer, view.valueStart, view.valueEnd, valueBytesMax) ?? Buffer.alloc(0);
  if (request) request.workBytes += inflated.length;
  return setRange(inflated, 0, inflated.length);
}

/** Where the body of an inflated value starts. */
export const bodyOf = (view: StoredDocument, value: ValueRange): number =>
  (view.datatype & Datatype.xattr) === 0 ? value.start : bodyStart(value.buffer, value.start, value.end);

/** Replies with the document in the view: flags, the key if `keyBytes` is set, and body. */
export function replyDocument(request: Request, view: ItemView, keyBytes = 0): Outcome {
  const { session } = request;
  let { datatype } = view;
  let { buffer } = view;
  let start = view.valueStart;
  let end = view.valueEnd;
  const mayCompress = session.features[Feature.snappy] === 1 && (datatype & Datatype.xattr) === 0;
  if ((datatype & Datatype.xattr) !== 0 || ((datatype & Datatype.snappy) !== 0 && !mayCompress)) {
    const value = plainValue(view, request);
    buffer = value.buffer;
    start = bodyOf(view, value);
    end = value.end;
    datatype &= Datatype.json;
  }
  if (session.features[Feature.json] !== 1) datatype &= ~Datatype.json;
  const bytes = end - start;
  const attached = bytes < ownMemoryBytes ? 0 : bytes;
  const at = beginReply(
    request,
    4,
    keyBytes,
    bytes,
    datatype,
    clientCasHi(view),
    clientCasLo(view),
    attached,
  );
  const { output, frame } = request;
  writeU32(output.buffer, at, view.flags);
  if (keyBytes > 0) frame.buffer.copy(output.buffer, at + 4, frame.keyStart, frame.valueStart);
  if (attached > 0) output.attach(buffer.subarray(start, end));
  else buffer.copy(output.buffer, at + 4 + keyBytes, start, end);
  return Outcome.replied;
}

/** Validates the value of the frame and puts it into the request's mutation. */
export function prepareValue(request: Request, end = request.frame.end): CommandResult {
  const { frame, mutation } = request;
  mutation.value = frame.buffer;
  mutation.valueStart = frame.valueStart;
  mutation.valueEnd = end;
  const encoding = frame.datatype & (Datatype.snappy | Datatype.xattr);
  if (encoding !== 0 || end - frame.valueStart > heavyBytes) return useValidated(request, encoding, end);
  mutation.datatype = isJson(frame.buffer, frame.valueStart, end) ? Datatype.json : Datatype.raw;
  return Status.success;
}

function useValidated(request: Request, encoding: number, end: number): CommandResult {
  const { frame, mutation, bucket } = request;
  const validation = validateRange(request, encoding, frame.valueStart, end, itemRoom(request));
  if (validation === null) return Outcome.heavy;
  const refusal = refusalOf(request, validation);
  if (refusal !== Status.success) return refusal;
  const json = validation.isJson ? Datatype.json : Datatype.raw;
  if (useStored(mutation, validation, json | (encoding & ~Datatype.snappy))) return Status.success;
  const { plain } = validation;
  const keepsCompressed =
    plain !== null && plain.length <= packedBytesMax && bucket.spec.compressionMode !== 'off';
  mutation.datatype = json | (keepsCompressed ? encoding : encoding & ~Datatype.snappy);
  if (plain === null || keepsCompressed) return Status.success;
  mutation.value = plain;
  mutation.valueStart = 0;
  mutation.valueEnd = plain.length;
  return Status.success;
}

/** Room for header and key of the request's item in front of its value. */
export const itemRoom = ({ keyStart, keyEnd }: Request): number => headerBytes + keyEnd - keyStart;

/** Uses the value that heavy work has put into memory of its own; false if there is none. */
function useStored(mutation: MutationRequest, { stored }: ValidatedValue, datatype: number): boolean {
  if (stored === null) return false;
  setOwnValue(mutation, stored);
  mutation.datatype = datatype;
  return true;
}

/** The mutation stores this value. The document takes over its memory, if the memory was prepared for that. */
export function setOwnValue(mutation: MutationRequest, value: Buffer): void {
  mutation.value = value;
  mutation.valueStart = 0;
  mutation.valueEnd = value.length;
  mutation.memory = value.buffer instanceof SharedArrayBuffer ? value.buffer : null;
}

/**
 * Validates a value in the frame. A large one is deferred as heavy work, and null is returned. With `room`, heavy work
 * puts the value into memory of its own, with that room in front.
 */
export function validateRange(
  request: Request,
  encoding: number,
  start: number,
  end: number,
  room = 0,
): ValidatedValue | null {
  const { frame } = request;
  if (request.heavy?.result && request.heavy.document === null) return request.heavy.result as ValidatedValue;
  const claimed = (encoding & Datatype.snappy) !== 0 ? snappyLength(frame.buffer, start, end) : 0;
  const bytes = Math.max(end - start, claimed <= valueBytesMax ? claimed : 0);
  if (bytes <= heavyBytes) return { ...validateValue(frame.buffer, start, end, encoding), stored: null };
  const from = start - frame.start;
  const to = end - frame.start;
  request.deferWork((frameBytes) => ({
    job: { kind: 'validate', parts: [frameBytes.subarray(from, to)], encoding, room },
  }));
  return null;
}

/** The status that refuses the value, or success. */
export function refusalOf(request: Request, { fault, systemBytes }: ValueValidation): Status {
  if (fault === 'not inflatable') return request.refuse(Status.invalidArguments, 'Failed to inflate payload');
  if (fault === 'bad attributes')
    return request.refuse(Status.xattrInvalid, 'The extended attributes are malformed');
  if (systemBytes > 0 && (request.privileges & Privilege.systemXattrWrite) === 0)
    return request.refuse(Status.noAccess, 'Requires privilege: SystemXattrWrite');
  return fault === 'too big' ? Status.tooBig : Status.success;
}
