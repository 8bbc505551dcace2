import { Status } from '#wire/status.ts';
import type { Request } from '../dispatch/request.ts';
import { accessTo } from '../session/session.ts';

/** This name deselects the bucket. */
const noBucket = '@no bucket@';

/** SELECT_BUCKET. The status for an unknown bucket is that of missing privileges, for administrators too: clients then fail at once. */
export function selectBucket(request: Request): Status {
  const { frame, session, environment } = request;
  const name = frame.buffer.toString('utf8', frame.keyStart, frame.valueStart);
  if (name === '' || name === noBucket) {
    session.select(null);
    return Status.success;
  }
  const { user } = session;
  const bucket = environment.directory.buckets.get(name);
  if (!bucket || !user || accessTo(bucket, user).anywhere === 0)
    return request.refuse(Status.noAccess, 'No access to the bucket');
  session.select(bucket);
  return Status.success;
}
