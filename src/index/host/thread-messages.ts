// Messages between the main thread and the index thread.
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { WireAccount, WireAddress } from '#client/wire-address.ts';
import type { LogMessage } from '#ports/log.ts';
import type { IndexReport, WantedIndexes } from '../index.contract.ts';

/** The worker data of the thread. */
export interface IndexThreadData {
  readonly folder: string;
  readonly address: WireAddress;
  readonly account: WireAccount;
}

/** Messages from the main thread. */
export type IndexThreadCall =
  | { readonly kind: 'apply'; readonly wanted: WantedIndexes }
  /** Which nodes have which vbuckets, now and after each change; null: this node has all. */
  | { readonly kind: 'cluster'; readonly layout: ClusterLayout | null }
  | { readonly kind: 'report'; readonly id: number }
  | { readonly kind: 'replace file'; readonly bucketUuid: string; readonly indexId: string }
  | { readonly kind: 'stop' };

/** Messages to the main thread. */
export type IndexThreadMessage =
  /** `id`: the id of the call. */
  | { readonly kind: 'report'; readonly id?: number; readonly indexes: readonly IndexReport[] }
  | { readonly kind: 'stopped' }
  | LogMessage;
