// The notification of a changed cluster configuration, for clients that negotiated it.
import { Feature } from '#wire/features.ts';
import { Magic } from '#wire/frame.ts';
import { encodeRequest } from '#wire/output.ts';
import { Datatype } from '#wire/status.ts';
import type { ServedBucket } from '../served/served-bucket.ts';
import type { Session } from '../session/session.ts';

/** The opcode of this request of the server. */
const clustermapChange = 0x01;

/** The notification for a client of the bucket, or null if it did not negotiate one. */
export function configPush(session: Session, bucket: ServedBucket): Buffer | null {
  if (session.bucket !== bucket) return null;
  const isBrief = session.has(Feature.clustermapPushBrief);
  if (!isBrief && !session.has(Feature.clustermapPush)) return null;
  const { revEpoch, rev } = bucket.spec.clusterConfig;
  const extras = Buffer.alloc(16);
  extras.writeBigInt64BE(BigInt(revEpoch), 0);
  extras.writeBigInt64BE(BigInt(rev), 8);
  return encodeRequest({
    magic: Magic.serverRequest,
    opcode: clustermapChange,
    datatype: isBrief ? Datatype.raw : Datatype.json,
    extras,
    key: Buffer.from(bucket.name),
    value: isBrief ? Buffer.alloc(0) : bucket.config,
  });
}
