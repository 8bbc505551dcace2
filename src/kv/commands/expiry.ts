// Commands that set a document's expiry without its value.
import { Status } from '#wire/status.ts';
import { type DocumentResult, StoreMode } from '../data/documents.ts';
import { beginReply } from '../dispatch/reply.ts';
import { beginMutation, type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import { replyDocument } from './values.ts';

/** TOUCH. */
export function touch(request: Request): CommandResult {
  const status = changeExpiry(request);
  if (status !== Status.success) return status;
  beginReply(request, 0, 0, 0, 0, request.result.casHi, request.result.casLo);
  return Outcome.replied;
}

/** GAT, GATQ. */
export function getAndTouch(request: Request): CommandResult {
  request.counters.gets++;
  const status = changeExpiry(request);
  if (status !== Status.success) return status;
  request.counters.getHits++;
  const { view, result } = request;
  view.casHi = result.casHi;
  view.casLo = result.casLo;
  return replyDocument(request, view);
}

function changeExpiry(request: Request): DocumentResult {
  const { frame } = request;
  const mutation = beginMutation(request, StoreMode.replace);
  mutation.expiry = frame.buffer.readUInt32BE(frame.extrasStart);
  return request.documents.touch(mutation, request.result, request.view);
}
