// Messages between the main thread and the XDCR thread.
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { LogMessage } from '#ports/log.ts';
import type { SourceAccess } from '../run/pipeline.ts';
import type { ReplicationReport, ShardCheckpoint, WantedReplication } from '../xdcr.contract.ts';

/** The worker data of the thread. */
export type XdcrThreadData = SourceAccess;

/** Messages from the main thread. */
export type XdcrThreadCall =
  | { readonly kind: 'apply'; readonly wanted: readonly WantedReplication[] }
  /** Which nodes have which vbuckets, now and after each change; null: this node has all. */
  | { readonly kind: 'cluster'; readonly layout: ClusterLayout | null }
  /** The answer to the `load` or `save` with this id. `found` is empty after `save`; `failure`: the text of the error. */
  | {
      readonly kind: 'checkpoints';
      readonly id: number;
      readonly found: readonly ShardCheckpoint[];
      readonly failure: string | null;
    }
  | { readonly kind: 'stop' };

/** Messages to the main thread. */
export type XdcrThreadMessage =
  | { readonly kind: 'report'; readonly replications: readonly ReplicationReport[] }
  /** Requests the checkpoints of a replication, which has this id. */
  | { readonly kind: 'load'; readonly id: number; readonly replication: string }
  | {
      readonly kind: 'save';
      readonly id: number;
      readonly replication: string;
      readonly checkpoint: ShardCheckpoint;
    }
  | { readonly kind: 'stopped' }
  | LogMessage;
