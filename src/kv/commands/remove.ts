import { Status } from '#wire/status.ts';
import { StoreMode } from '../data/documents.ts';
import { replyMutation } from '../dispatch/reply.ts';
import { beginMutation, type CommandResult, Outcome, type Request } from '../dispatch/request.ts';

/** DELETE, DELETEQ. */
export function remove(request: Request): CommandResult {
  const { counters } = request;
  const status = request.documents.remove(beginMutation(request, StoreMode.remove), request.result);
  if (status === Status.keyNotFound) counters.deleteMisses++;
  if (status !== Status.success) return status;
  counters.deletes++;
  replyMutation(request, request.result);
  return Outcome.replied;
}
