// What the main thread and the index thread say to each other.
import type { WireAccount, WireAddress } from '#client/wire-connection.adapter.ts';
import type { LogLevel } from '#ports/log.ts';
import type { IndexReport, WantedIndexes } from '../index.contract.ts';

/** Given to the thread when it starts. */
export interface IndexThreadData {
  readonly folder: string;
  readonly address: WireAddress;
  readonly account: WireAccount;
}

export type IndexThreadCall =
  | { readonly kind: 'apply'; readonly wanted: WantedIndexes }
  | { readonly kind: 'report'; readonly id: number }
  | { readonly kind: 'replace file'; readonly bucketUuid: string; readonly indexId: string }
  | { readonly kind: 'stop' };

export type IndexThreadMessage =
  /** `id`: of the call that asked for it. */
  | { readonly kind: 'report'; readonly id?: number; readonly indexes: readonly IndexReport[] }
  | { readonly kind: 'stopped' }
  | {
      readonly kind: 'log';
      readonly level: Exclude<LogLevel, 'silent'>;
      readonly event: string;
      readonly fields: Record<string, unknown>;
    };
