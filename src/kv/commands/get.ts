import { Status } from '#wire/status.ts';
import type { CommandResult, Request } from '../dispatch/request.ts';
import { replyDocument } from './values.ts';

/** GET, GETQ. */
export function get(request: Request): CommandResult {
  const { counters, view, frame } = request;
  counters.gets++;
  const status = request.documents.find(frame.vb, request.key, request.keyStart, request.keyEnd, view);
  if (status !== Status.success) return status;
  counters.getHits++;
  return replyDocument(request, view);
}

/** GETK, GETKQ: the reply includes the key as it was sent. */
export function getWithKey(request: Request): CommandResult {
  const { counters, view, frame } = request;
  counters.gets++;
  const status = request.documents.find(frame.vb, request.key, request.keyStart, request.keyEnd, view);
  if (status !== Status.success) return status;
  counters.getHits++;
  return replyDocument(request, view, frame.valueStart - frame.keyStart);
}

/** GET_REPLICA. */
export function getReplica(request: Request): CommandResult {
  const { counters, view, frame, key, keyStart, keyEnd } = request;
  counters.gets++;
  const status = request.documents.findReplica(frame.vb, key, keyStart, keyEnd, view);
  if (status !== Status.success) return status;
  if (view.isDeleted) return Status.keyNotFound;
  counters.getHits++;
  return replyDocument(request, view);
}
