// Counters: documents whose value is a decimal number.
import { Datatype, Status } from '#wire/status.ts';
import { StoreMode } from '../data/documents.ts';
import { replyMutation } from '../dispatch/reply.ts';
import { beginMutation, type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import { add64, decimalBytesMax, number64, readDecimal, subtract64, writeDecimal } from './decimal.ts';
import { bodyOf, plainValue } from './values.ts';

/** With this expiry a missing counter is not created. */
const doNotCreate = 0xffffffff;

/** INCR, INCRQ: wraps at 2^64. */
export const increment = (request: Request): CommandResult =>
  count(request, add64, 'increments', 'incrementMisses');
/** DECR, DECRQ: stops at 0. */
export const decrement = (request: Request): CommandResult =>
  count(request, subtract64, 'decrements', 'decrementMisses');

type Counted = 'increments' | 'incrementMisses' | 'decrements' | 'decrementMisses';

function count(
  request: Request,
  change: (hi: number, lo: number) => void,
  hits: Counted,
  misses: Counted,
): CommandResult {
  const { view, frame } = request;
  const found = request.documents.find(frame.vb, request.key, request.keyStart, request.keyEnd, view);
  if (found === Status.keyNotFound) return create(request, misses);
  if (found !== Status.success) return found;
  if (view.isLocked) return Status.locked;
  const value = plainValue(view, request);
  if (!readDecimal(value.buffer, bodyOf(view, value), value.end)) {
    return request.refuse(Status.deltaBadValue, 'The value is not a number');
  }
  const { buffer, extrasStart } = frame;
  change(buffer.readUInt32BE(extrasStart), buffer.readUInt32BE(extrasStart + 4));
  const mutation = beginMutation(request, StoreMode.replace);
  mutation.flags = view.flags;
  mutation.preserveExpiry = true;
  mutation.keepXattrs = true;
  return storeNumber(request, hits);
}

function create(request: Request, misses: Counted): CommandResult {
  const { buffer, extrasStart } = request.frame;
  const expiry = buffer.readUInt32BE(extrasStart + 16);
  if (expiry === doNotCreate) {
    request.counters[misses]++;
    return Status.keyNotFound;
  }
  number64.hi = buffer.readUInt32BE(extrasStart + 8);
  number64.lo = buffer.readUInt32BE(extrasStart + 12);
  beginMutation(request, StoreMode.add).expiry = expiry;
  return storeNumber(request, misses);
}

function storeNumber(request: Request, counted: Counted): CommandResult {
  const { mutation, result, output } = request;
  mutation.value = request.scratch.room(decimalBytesMax);
  mutation.valueStart = 0;
  mutation.valueEnd = writeDecimal(mutation.value, 0);
  mutation.datatype = Datatype.json;
  const status = request.documents.store(mutation, result);
  if (status !== Status.success) return status;
  request.counters[counted]++;
  const at = replyMutation(request, result, 8);
  output.buffer.writeUInt32BE(number64.hi, at);
  output.buffer.writeUInt32BE(number64.lo, at + 4);
  return Outcome.replied;
}
