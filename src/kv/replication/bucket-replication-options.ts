// What the replication of one bucket gets from the data service.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { MapChange, MapOutcome, SyncMember } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import type { RollbackLimits } from './copy-rollbacks.ts';
import type { EarlyOpens } from './early-opens.ts';
import type { PeerConnections } from './peers.ts';

export interface BucketReplicationOptions {
  /** Uuid of the bucket. */
  uuid: string;
  /** Incremented by every flush of the bucket. */
  incarnation: number;
  bucket: Bucket;
  self: SyncMember;
  peers: PeerConnections;
  /**
   * An earlier engine of the bucket may have promised active copies on other nodes to follow no higher epoch: such a promise ends at this
   * monotonic time at the latest.
   */
  promisedUntilMs: number;
  /** The engine of the bucket before this one belonged to an earlier process. */
  followsEarlierProcess: boolean;
  /** Requests, of all buckets, that arrived too early: to feed copies of which this node has not yet learned by the map that it has them. */
  early: EarlyOpens;
  /** Proposes a change of the map of shards to the configuration. */
  change: (change: MapChange) => Promise<MapOutcome>;
  /** Whether this node keeps copies that the map no longer assigns to it. */
  keepsCopies: () => boolean;
  /** Called when this node serves other shards than before. */
  changed: () => void;
  rollbackLimits?: RollbackLimits | undefined;
  /** Reads the clock for all buckets: between two calls their current time stands still. */
  tick: () => void;
  clock: Clock;
  log: Log;
}
