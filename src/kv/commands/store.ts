import { readU32 } from '#wire/bytes.ts';
import { Datatype, Status } from '#wire/status.ts';
import { StoreMode } from '../data/documents.ts';
import { replyMutation } from '../dispatch/reply.ts';
import { beginMutation, type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import { prepareValue } from './values.ts';

/** SET, SETQ. */
export const set = (request: Request): CommandResult => store(request, StoreMode.set);
/** ADD, ADDQ. */
export const add = (request: Request): CommandResult => store(request, StoreMode.add);
/** REPLACE, REPLACEQ. */
export const replace = (request: Request): CommandResult => store(request, StoreMode.replace);

function store(request: Request, mode: StoreMode): CommandResult {
  const { frame, result } = request;
  const mutation = beginMutation(request, mode);
  const refusal = prepareValue(request);
  if (refusal !== Status.success) return refusal;
  mutation.flags = readU32(frame.buffer, frame.extrasStart);
  mutation.expiry = readU32(frame.buffer, frame.extrasStart + 4);
  // A request with attributes replaces the stored ones; a request with only a body keeps them.
  mutation.keepXattrs = (mutation.datatype & Datatype.xattr) === 0;
  const status = request.documents.store(mutation, result);
  if (frame.casLo !== 0 || frame.casHi !== 0) countCasResult(request, status);
  if (status !== Status.success) return status;
  request.counters.sets++;
  replyMutation(request, result);
  return Outcome.replied;
}

/** Counts the results of writes with a CAS. */
function countCasResult({ counters }: Request, status: CommandResult): void {
  if (status === Status.success) counters.casHits++;
  else if (status === Status.keyNotFound) counters.casMisses++;
  else if (status === Status.keyExists) counters.casBadValues++;
}
