import { Feature } from '#wire/features.ts';
import { Datatype, Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import { configRevision, replyValue } from '../dispatch/reply.ts';
import type { CommandResult, Request } from '../dispatch/request.ts';

/** GET_CLUSTER_CONFIG: the bucket's configuration; without a bucket the cluster's. */
export function getClusterConfig(request: Request): CommandResult {
  const { session, environment, frame } = request;
  const { bucket } = session;
  const cluster = environment.directory.clusterConfig;
  if (!bucket) {
    if ((request.privileges & Privilege.systemSettings) === 0) {
      return request.refuse(Status.noAccess, 'Requires privilege: SystemSettings');
    }
    if (!cluster) return Status.noBucket;
  }
  const version = bucket ? bucket.spec.clusterConfig : cluster;
  const json = bucket ? bucket.config : cluster?.json;
  if (!version || !json) return Status.noBucket;
  if (frame.keyStart > frame.extrasStart) {
    const clientVersion = readVersion(request);
    if (clientVersion === null)
      return request.refuse(
        Status.invalidArguments,
        'The known revision must be at least 1, the known epoch at least 1 or -1',
      );
    if (clientVersion === configRevision(version)) return Status.success;
  }
  if (bucket && session.has(Feature.dedupeNotMyVbucket)) session.sentConfigRevision = configRevision(version);
  return replyValue(request, json, Datatype.json);
}

/** Epoch and revision that the client has, or null if they are invalid. */
function readVersion(request: Request): string | null {
  const { buffer, extrasStart } = request.frame;
  const revEpoch = buffer.readBigInt64BE(extrasStart);
  const rev = buffer.readBigInt64BE(extrasStart + 8);
  if (rev < 1n || (revEpoch < 1n && revEpoch !== -1n)) return null;
  return configRevision({ revEpoch: Number(revEpoch), rev: Number(rev) });
}
