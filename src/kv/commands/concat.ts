// Bytes put behind or before what is stored.
import { Datatype, Status } from '#wire/status.ts';
import { type ItemView, StoreMode } from '../data/documents.ts';
import { replyMutation } from '../dispatch/reply.ts';
import { beginMutation, Outcome, type Request } from '../dispatch/request.ts';
import { isJson } from '../value/json.ts';
import { bodyBytesLimit } from '../value/xattrs.ts';
import { bodyOf, inflate, plainValue } from './values.ts';

/** APPEND and its quiet twin. */
export const append = (request: Request): Status | Outcome => concat(request, true);
/** PREPEND and its quiet twin. */
export const prepend = (request: Request): Status | Outcome => concat(request, false);

function concat(request: Request, isBehind: boolean): Status | Outcome {
  const { view, frame } = request;
  if ((frame.datatype & Datatype.xattr) !== 0) {
    return request.refuse(Status.invalidArguments, 'Attributes cannot be appended or prepended');
  }
  const found = request.documents.find(frame.vb, request.key, request.keyStart, request.keyEnd, view);
  if (found === Status.keyNotFound) return Status.notStored;
  if (found !== Status.success) return found;
  const mutation = beginMutation(request, StoreMode.replace);
  const status = compose(request, view, isBehind);
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

/** Puts the new body into the mutation. */
function compose(request: Request, view: ItemView, isBehind: boolean): Status {
  const { frame, mutation } = request;
  const added = { buffer: frame.buffer, start: frame.valueStart, end: frame.end };
  if ((frame.datatype & Datatype.snappy) !== 0) {
    const status = inflate(request, added);
    if (status !== Status.success) return status;
  }
  const value = plainValue(view);
  const start = bodyOf(view, value);
  const oldBytes = value.end - start;
  const addedBytes = added.end - added.start;
  if (oldBytes + addedBytes > bodyBytesLimit) return Status.tooBig;
  const body = request.scratch.room(oldBytes + addedBytes);
  value.buffer.copy(body, isBehind ? 0 : addedBytes, start, value.end);
  added.buffer.copy(body, isBehind ? oldBytes : 0, added.start, added.end);
  mutation.value = body;
  mutation.valueStart = 0;
  mutation.valueEnd = oldBytes + addedBytes;
  mutation.datatype = isJson(body, 0, mutation.valueEnd) ? Datatype.json : Datatype.raw;
  return Status.success;
}
