// The shards of a bucket on the nodes of a cluster: what a node does with each, and the changes of the map that data services request.
import type { VbucketStateName } from './data/vbucket-state.ts';

/** What this node does with one shard of a bucket. */
export interface ShardSpec {
  readonly state: VbucketStateName;
  /** Rises each time that another copy becomes active. */
  readonly epoch: number;
  /** Ids of the nodes to which the map gives a copy. */
  readonly replicas: readonly string[];
  /** Id of the node that the map names as active; absent if the map names none. */
  readonly active?: string;
  /** The boot id of the active that confirmed the epoch. */
  readonly confirmed?: string;
  /**
   * Where the named active has not confirmed: id of the node that was the last to confirm. Where it has confirmed: id of the member that continues
   * the shard in its place if all members lose their memory, since the disk of the active may lack what is on the disk of that member.
   */
  readonly lastActive?: string;
  /** The epoch whose active reported that it has stopped. */
  readonly stopped?: number;
  /** Where the named active has not confirmed: every member has all changes of the active before it, which has stopped. */
  readonly isHandedOver?: true;
  /** Id of the member to which the active hands the shard over: it accepts nothing more, sends what it has, and requests `stop`. */
  readonly successor?: string;
  /** The in-sync set. Absent: the active alone. */
  readonly inSync?: readonly SyncMember[];
  /** This process has a copy and is no member of the in-sync set: the copy answers no reads. */
  readonly isOutOfSync?: boolean;
}

/** How far a copy of a shard is: under which epoch, and the sum of the seqnos of its vbuckets. */
export interface ShardPosition {
  /** The lowest epoch of the shard's vbuckets. */
  readonly epoch: number;
  /** The sum of the highest seqnos of the shard's vbuckets. */
  readonly seqno: number;
}

/** A node whose copy has received every durable write, and the boot id of the process that received them. */
export interface SyncMember {
  readonly node: string;
  readonly boot: string;
}

/** A node that answers the heartbeat of an active promises to confirm no higher epoch for this long, at most. */
export const promiseMsMax = 10_000;

/** The other nodes of the cluster, and how this node proves its identity to them. */
export interface KvCluster {
  readonly self: SyncMember;
  readonly peers: readonly PeerSpec[];
  /** Null: there are no connections to other nodes yet. */
  readonly tls: PeerTls | null;
  /** How long this node, after it answered an active, confirms no higher epoch; at most ten seconds, which is the default. */
  readonly promiseMs?: number;
  /** Whether copies that the maps no longer name stay: this node is being failed over, or recovered by delta recovery. */
  readonly keepsCopies?: boolean;
}

export interface PeerSpec {
  readonly node: string;
  readonly host: string;
  /** The node's replication port. */
  readonly port: number;
}

/** PEM: the certificate of this node, its key, and the cluster's authority, which signed those of all nodes. */
export interface PeerTls {
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
}

/**
 * A change of a bucket's map that the data service requests. The manager makes all of it or nothing. Without changes it writes the map
 * again as it is: after an unknown outcome, the answer shows the map, and no earlier write can be applied any more.
 */
export interface MapChange {
  readonly bucketUuid: string;
  readonly changes: readonly ShardChange[];
}

/** A bucket's map, as far as it concerns this node. */
export interface ShardMap {
  readonly bucketUuid: string;
  readonly revision: number;
  readonly shards: readonly ShardSpec[];
}

/**
 * `confirm`: this process serves the shard from now on, under this epoch, which may be above that in the map. `join`, `leave`: a copy
 * becomes, or ceases to be, a member of the in-sync set. `stop`: this process does not serve the shard any longer. `written`: the disk of a
 * member has all that this process took over, so that this member continues if all lose their memory. Every change but
 * `confirm` requires that this process is the confirmed active of the epoch; `stop` only that this node is.
 */
export type ShardChange =
  | {
      readonly shard: number;
      readonly epoch: number;
      readonly kind: 'confirm';
      /** Other members whose process has restarted and lost what it had only in memory. The confirmed in-sync set does not contain them. */
      readonly restarted?: readonly string[];
      /** The boot of the cleanly stopped process whose memory this process has. This process replaces that one in the in-sync set. */
      readonly continues?: string;
      /** The disk of this node lacks some of the shard: if all members lose their memory, the last active continues, and not this node. */
      readonly isUnwritten?: true;
    }
  | {
      readonly shard: number;
      readonly epoch: number;
      readonly kind: 'stop';
      /** A member with all that was acknowledged, to serve the shard instead of this node. */
      readonly successor?: string;
      /** Every member has all changes of the shard, and this node made no more: the shard is handed over. */
      readonly isComplete?: true;
    }
  | { readonly shard: number; readonly epoch: number; readonly kind: 'join'; readonly member: SyncMember }
  | {
      readonly shard: number;
      readonly epoch: number;
      readonly kind: 'leave';
      readonly node: string;
      /** Makes the change `written` of this node, too: the member that leaves may be the last active. */
      readonly isWritten?: true;
    }
  | {
      readonly shard: number;
      readonly epoch: number;
      readonly kind: 'written';
      /** Id of a member; absent: this node. */
      readonly by?: string;
    };

/**
 * `done` and `refused` contain the map at that revision. `unknown`: the change may be made, also later. `notMade`: it was not
 * made and will not be.
 */
export type MapOutcome =
  | { readonly kind: 'done' | 'refused'; readonly revision: number; readonly shards: readonly ShardSpec[] }
  | { readonly kind: 'unknown'; readonly reason: string }
  | { readonly kind: 'notMade'; readonly reason: string };
