// The position of a copy in a vbucket, which the active requests before it feeds the copy.
import type { Bucket } from '../bucket/bucket.ts';
import type { CopyRow } from './frames.ts';

export const positionOf = (bucket: Bucket, vb: number): CopyRow => ({
  vb,
  high: bucket.rows.highSeqno[vb] as number,
  persisted: bucket.rows.persistedSeqno[vb] as number,
  failover: Buffer.from(bucket.history(vb)).toString('base64'),
});
