// Commands that set a document's expiry without its value.
import { Status } from '#wire/status.ts';
import { StoreMode } from '../data/documents.ts';
import { beginReply } from '../dispatch/reply.ts';
import { beginMutation, Outcome, type Request } from '../dispatch/request.ts';
import { replyDocument } from './values.ts';

/** TOUCH. */
export function touch(request: Request): Status | Outcome {
  const status = changeExpiry(request);
  if (status !== Status.success) return status;
  beginReply(request, 0, 0, 0, 0, request.result.casHi, request.result.casLo);
  return Outcome.replied;
}

/** GAT, GATQ. */
export function getAndTouch(request: Request): Status | Outcome {
  request.counters.gets++;
  const status = changeExpiry(request);
  if (status !== Status.success) return status;
  request.counters.getHits++;
  const { view, result } = request;
  view.casHi = result.casHi;
  view.casLo = result.casLo;
  return replyDocument(request, view);
}

function changeExpiry(request: Request): Status {
  const { frame } = request;
  const mutation = beginMutation(request, StoreMode.replace);
  mutation.expiry = frame.buffer.readUInt32BE(frame.extrasStart);
  return request.documents.touch(mutation, request.result, request.view);
}
