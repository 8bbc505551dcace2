import { Status } from '#wire/status.ts';
import type { Request } from '../dispatch/request.ts';
import { accessTo } from '../session/session.ts';

/** Stands for no bucket at all. */
const noBucket = '@no bucket@';

/** SELECT_BUCKET. A bucket that is missing answers as one without rights, also to administrators: clients then give up at once. */
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
