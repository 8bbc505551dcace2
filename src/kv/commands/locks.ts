// Locks on documents.
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import type { CommandResult, Request } from '../dispatch/request.ts';
import { replyDocument } from './values.ts';

/** GETL. */
export function getAndLock(request: Request): CommandResult {
  const { frame, view, result } = request;
  const seconds = frame.keyStart > frame.extrasStart ? frame.buffer.readUInt32BE(frame.extrasStart) : 0;
  const { key, keyStart, keyEnd } = request;
  const status = request.documents.lock(frame.vb, key, keyStart, keyEnd, seconds, result, view);
  if (status !== Status.success) return status;
  // Only the locking client gets the CAS that unlocks the document.
  view.isLocked = false;
  view.casHi = result.casHi;
  view.casLo = result.casLo;
  return replyDocument(request, view);
}

/**
 * UNLOCK. Clients for server version 7.1 do not know the status for a document that is not locked; newer clients are recognized by
 * the features that they request.
 */
export function unlock(request: Request): CommandResult {
  const { frame, key, keyStart, keyEnd, session } = request;
  const status = request.documents.unlock(frame.vb, key, keyStart, keyEnd, frame.casHi, frame.casLo);
  const knowsStatus = session.has(Feature.dedupeNotMyVbucket) || session.has(Feature.clustermapPushBrief);
  return status === Status.notLocked && !knowsStatus ? Status.temporaryFailure : status;
}
