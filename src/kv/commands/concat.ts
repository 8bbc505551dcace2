// Commands that append bytes to a stored value or prepend them.
import { Datatype, Status } from '#wire/status.ts';
import { type ItemView, StoreMode } from '../data/documents.ts';
import { replyMutation } from '../dispatch/reply.ts';
import { beginMutation, type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import { heavyBytes, isSameDocument, sharedValue, type ValidatedValue } from '../heavy/jobs.ts';
import { isJson } from '../value/json.ts';
import { bodyBytesMax } from '../value/xattrs.ts';
import {
  bodyOf,
  itemRoom,
  plainValue,
  refusalOf,
  setOwnValue,
  type ValueRange,
  validateRange,
} from './values.ts';

/** APPEND, APPENDQ. */
export const append = (request: Request): CommandResult => concat(request, true);
/** PREPEND, PREPENDQ. */
export const prepend = (request: Request): CommandResult => concat(request, false);

function concat(request: Request, isAppend: boolean): CommandResult {
  const { view, frame } = request;
  if ((frame.datatype & Datatype.xattr) !== 0) {
    return request.refuse(Status.invalidArguments, 'Attributes cannot be appended or prepended');
  }
  const found = request.documents.find(frame.vb, request.key, request.keyStart, request.keyEnd, view);
  if (found === Status.keyNotFound) return Status.notStored;
  if (found !== Status.success) return found;
  const mutation = beginMutation(request, StoreMode.replace);
  const status = useComposed(request) ?? compose(request, view, isAppend);
  if (status !== Status.success) return status;
  mutation.flags = view.flags;
  mutation.preserveExpiry = true;
  mutation.keepXattrs = true;
  const stored = request.documents.store(mutation, request.result);
  if (stored !== Status.success) return stored;
  request.counters.sets++;
  replyMutation(request, request.result);
  return Outcome.replied;
}

/** Uses the value that was composed and validated as heavy work, if the document is unchanged; else returns null. */
function useComposed({ heavy, mutation, view }: Request): Status | null {
  if (!heavy?.result || !isSameDocument(heavy, view)) return null;
  const { stored, isJson } = heavy.result as ValidatedValue;
  if (stored === null) return null;
  setOwnValue(mutation, stored);
  mutation.datatype = isJson ? Datatype.json : Datatype.raw;
  return Status.success;
}

/** Composes the new body and puts it into the mutation. */
function compose(request: Request, view: ItemView, isAppend: boolean): CommandResult {
  const { frame, mutation } = request;
  const added = { buffer: frame.buffer, start: frame.valueStart, end: frame.end };
  if ((frame.datatype & Datatype.snappy) !== 0) {
    const validation = validateRange(request, Datatype.snappy, frame.valueStart, frame.end);
    if (validation === null) return Outcome.heavy;
    const refusal = refusalOf(request, validation);
    if (refusal !== Status.success) return refusal;
    added.buffer = validation.plain ?? added.buffer;
    added.start = 0;
    added.end = added.buffer.length;
  }
  const value = plainValue(view, request);
  const start = bodyOf(view, value);
  const oldBytes = value.end - start;
  const addedBytes = added.end - added.start;
  const bytes = oldBytes + addedBytes;
  if (bytes > bodyBytesMax) return Status.tooBig;
  if (bytes > heavyBytes)
    return joinAsHeavyWork(request, view, value.buffer.subarray(start, value.end), added, isAppend);
  const body = request.scratch.room(bytes);
  value.buffer.copy(body, isAppend ? 0 : addedBytes, start, value.end);
  added.buffer.copy(body, isAppend ? oldBytes : 0, added.start, added.end);
  mutation.value = body;
  mutation.valueStart = 0;
  mutation.valueEnd = bytes;
  mutation.datatype = isJson(body, 0, bytes) ? Datatype.json : Datatype.raw;
  return Status.success;
}

/** Joins and validates as heavy work. */
function joinAsHeavyWork(
  request: Request,
  { casHi, casLo, isLocked }: ItemView,
  old: Buffer,
  added: ValueRange,
  isAppend: boolean,
): CommandResult {
  const { environment, frame, session } = request;
  const user = session.user?.spec.name ?? '';
  if (!environment.heavy.hasRoom(user, old.length + added.end - added.start))
    return request.refuse(Status.temporaryFailure, 'Too much work on large documents is queued');
  const shared = sharedValue(old);
  const room = itemRoom(request);
  // Uncompressed bytes to add are in the frame, which deferred work copies; decompressed bytes have their own buffer.
  const from = added.buffer === frame.buffer ? frame.start : -1;
  const { buffer, start, end } = added;
  return request.deferWork((bytes) => {
    const piece = from < 0 ? buffer.subarray(start, end) : bytes.subarray(start - from, end - from);
    const parts = isAppend ? [shared, piece] : [piece, shared];
    return {
      job: { kind: 'validate', parts, encoding: Datatype.raw, room },
      document: { casHi, casLo, isLocked },
    };
  });
}
