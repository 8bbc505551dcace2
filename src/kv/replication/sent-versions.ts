// The active's side of a rollback: answers a copy with the older versions of the documents that the copy replaces.
import type { Log } from '#ports/log.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { decodeKeys } from '../data/document-keys.ts';
import type { WantedVersions } from './frames.ts';
import type { PeerConnections } from './peers.ts';
import { keysMax } from './version-requests.ts';

export interface SentVersionsOptions {
  bucket: Bucket;
  peers: Pick<PeerConnections, 'send'>;
  /** Whether this node is the active of the shard in that epoch. */
  isActive: () => boolean;
  log: Log;
}

/** @throws Error when the request breaks the protocol. */
export function sendVersions(
  node: string,
  { kind: _, upTo, ...ref }: WantedVersions,
  body: Buffer,
  options: SentVersionsOptions,
): void {
  const { bucket, isActive, log, peers } = options;
  const { shard, vb } = ref;
  // The memory of the frame is reused.
  const keys = decodeKeys(Buffer.from(body)).map(({ key }) => key);
  if (keys.length > keysMax)
    throw new Error(`the versions of ${keys.length} keys are requested; at most ${keysMax} are allowed`);
  const send = (answered: number, newest: number, batch?: Uint8Array): void => {
    if (!isActive()) return;
    const purge = bucket.columns.purgeSeqno[vb] as number;
    peers.send(node, { kind: 'versions', ...ref, answered, newest, purge }, batch);
  };
  bucket.rollbacks.olderVersions({ vb, upTo, keys }).then(
    ({ answered, batch, newest }) => send(answered, newest, batch),
    (error: Error) => {
      log.warn('replication.versions_failed', { bucket: ref.bucket, shard, node, reason: error.message });
      send(0, 0);
    },
  );
}
