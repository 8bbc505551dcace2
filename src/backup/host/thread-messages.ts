// Messages between the main thread and the thread of the backup service.
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { LogMessage } from '#ports/log.ts';
import type { Job, JobProgress } from './jobs.ts';

/** Messages from the main thread. */
export type BackupThreadCall =
  | { readonly kind: 'run'; readonly id: number; readonly job: Job }
  /** Which nodes have which vbuckets, now and after each change; null: this node has all. */
  | { readonly kind: 'cluster'; readonly layout: ClusterLayout | null }
  | { readonly kind: 'cancel'; readonly id: number; readonly reason: string }
  | { readonly kind: 'stop' };

/** Messages to the main thread. */
export type BackupThreadMessage =
  | { readonly kind: 'progress'; readonly id: number; readonly state: JobProgress }
  | { readonly kind: 'done'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly reason: string; readonly isInUse: boolean }
  | { readonly kind: 'stopped' }
  | LogMessage;
