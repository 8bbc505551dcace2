import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { CommandResult, Request } from '../dispatch/request.ts';

/** EVICT_KEY: evicts a document that is on disk from memory; for administrators. */
export function evictKey(request: Request): CommandResult {
  const { bucket, documents, frame, key, keyStart, keyEnd, session, view } = request;
  const nodeBits = session.user?.spec.grants.node ?? 0;
  if ((nodeBits & Privilege.administrator) === 0)
    return request.refuse(Status.noAccess, 'Requires privilege: Administrator');
  if (bucket.spec.type !== 'native' || !bucket.engine) return Status.notSupported;
  const status = documents.findMeta(frame.vb, key, keyStart, keyEnd, view);
  if (status !== Status.success) return status;
  return bucket.engine.keys.evict(frame.vb, Buffer.from(key.subarray(keyStart, keyEnd)));
}
