import { Status } from '#wire/status.ts';
import type { Request } from '../dispatch/request.ts';
import { accessTo } from '../session/session.ts';

/** Stands for no bucket at all. */
const noBucket = '@no bucket@';

/** SELECT_BUCKET. Whether a bucket exists is told only to those with rights in it. */
export function selectBucket(request: Request): Status {
  const { frame, session, environment } = request;
  const name = frame.buffer.toString('utf8', frame.keyStart, frame.valueStart);
  if (name === '' || name === noBucket) {
    session.select(null);
    return Status.success;
  }
  const { user } = session;
  const bucket = environment.directory.buckets.get(name);
  const grants = user?.spec.grants.buckets ?? {};
  const hasRights =
    bucket && user
      ? accessTo(bucket, user).anywhere !== 0
      : ['*', name].some((one) => Object.hasOwn(grants, one));
  if (!hasRights) return request.refuse(Status.noAccess, 'No access to the bucket');
  if (!bucket) return Status.keyNotFound;
  session.select(bucket);
  return Status.success;
}
