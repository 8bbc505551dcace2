// Locks on documents.
import { Status } from '#wire/status.ts';
import type { Outcome, Request } from '../dispatch/request.ts';
import { replyDocument } from './values.ts';

/** GETL. */
export function getAndLock(request: Request): Status | Outcome {
  const { frame, view, result } = request;
  const seconds = frame.keyStart > frame.extrasStart ? frame.buffer.readUInt32BE(frame.extrasStart) : 0;
  const { key, keyStart, keyEnd } = request;
  const status = request.documents.lock(frame.vb, key, keyStart, keyEnd, seconds, result, view);
  if (status !== Status.success) return status;
  // Only who locks a document is told the CAS that unlocks it.
  view.locked = false;
  view.casHi = result.casHi;
  view.casLo = result.casLo;
  return replyDocument(request, view);
}

/** UNLOCK. */
export function unlock(request: Request): Status {
  const { frame, key, keyStart, keyEnd } = request;
  return request.documents.unlock(frame.vb, key, keyStart, keyEnd, frame.casHi, frame.casLo);
}
