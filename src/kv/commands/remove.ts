import { Status } from '#wire/status.ts';
import { StoreMode } from '../bucket/documents.ts';
import { replyMutation } from '../dispatch/reply.ts';
import { beginMutation, Outcome, type Request } from '../dispatch/request.ts';

/** DELETE and its quiet twin. */
export function remove(request: Request): Status | Outcome {
  const status = request.documents.remove(beginMutation(request, StoreMode.remove), request.result);
  if (status !== Status.success) return status;
  request.counters.deletes++;
  replyMutation(request, request.result);
  return Outcome.replied;
}
