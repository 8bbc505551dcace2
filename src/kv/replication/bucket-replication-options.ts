// What the replication of one bucket gets from the data service.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { MapChange, MapOutcome, SyncMember } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import type { RollbackLimits } from './copy-rollbacks.ts';
import type { EarlyOpens } from './early-opens.ts';
import type { PeerConnections } from './peers.ts';

export interface BucketReplicationOptions {
  uuid: string;
  incarnation: number;
  bucket: Bucket;
  self: SyncMember;
  peers: PeerConnections;
  /** Until this monotonic time, promises may be valid that an earlier engine of the bucket made to actives on other nodes. */
  promisedUntilMs: number;
  /** The engine of the bucket before this one belonged to an earlier process. */
  followsEarlierProcess: boolean;
  /** Requests to feed copies that arrived before this node had the map that gives it the copies; shared by all buckets. */
  early: EarlyOpens;
  /** Proposes a change of the map of shards to the configuration. */
  change: (change: MapChange) => Promise<MapOutcome>;
  /** Whether this node keeps copies that the map no longer gives to it. */
  keepsCopies: () => boolean;
  /** Called when this node serves other shards than before. */
  changed: () => void;
  rollbackLimits?: RollbackLimits | undefined;
  /** Updates the current time of the buckets, which does not pass within a turn. */
  tick: () => void;
  clock: Clock;
  log: Log;
}
