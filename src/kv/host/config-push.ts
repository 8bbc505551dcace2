// The notification of a changed cluster configuration, for clients that negotiated it.
import { Feature } from '#wire/features.ts';
import { Magic } from '#wire/frame.ts';
import { encodeRequest } from '#wire/output.ts';
import { Datatype } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { ServedBucket } from '../served/served-bucket.ts';
import type { Session } from '../session/session.ts';

/** The opcode of this request of the server. */
const clustermapChange = 0x01;

/** The configuration of a bucket; without one that of the cluster. */
export interface PushedConfig {
  bucket: ServedBucket | null;
  revEpoch: number;
  rev: number;
  json: Buffer;
}

/** The notification for a client that selected the bucket, or none and may read that of the cluster; null if it did not negotiate one. */
export function configPush(session: Session, { bucket, revEpoch, rev, json }: PushedConfig): Buffer | null {
  if (session.bucket !== bucket) return null;
  const isBrief = session.has(Feature.clustermapPushBrief);
  if (!isBrief && !session.has(Feature.clustermapPush)) return null;
  if (bucket === null && !mayReadOfCluster(session)) return null;
  const extras = Buffer.alloc(16);
  extras.writeBigInt64BE(BigInt(revEpoch), 0);
  extras.writeBigInt64BE(BigInt(rev), 8);
  return encodeRequest({
    magic: Magic.serverRequest,
    opcode: clustermapChange,
    datatype: isBrief ? Datatype.raw : Datatype.json,
    extras,
    key: Buffer.from(bucket?.name ?? ''),
    value: isBrief ? Buffer.alloc(0) : json,
  });
}

/** As for GET_CLUSTER_CONFIG. */
const mayReadOfCluster = ({ user }: Session): boolean =>
  user !== null && (user.spec.grants.node & Privilege.systemSettings) !== 0;
