// Messages between a query thread and the main thread about indexes.
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import type { IndexChange, IndexKeyspace, IndexReport, NewIndex } from '../index.contract.ts';

export type LinkCall =
  | { readonly id: number; readonly method: 'create'; readonly definition: NewIndex }
  | { readonly id: number; readonly method: 'drop'; readonly keyspace: IndexKeyspace; readonly name: string }
  | {
      readonly id: number;
      readonly method: 'build';
      readonly keyspace: IndexKeyspace;
      readonly names: readonly string[];
    }
  | {
      readonly id: number;
      readonly method: 'alter';
      readonly keyspace: IndexKeyspace;
      readonly name: string;
      readonly change: IndexChange;
    }
  | {
      readonly id: number;
      readonly method: 'ready on other nodes' | 'gone from other nodes';
      readonly ids: readonly string[];
    }
  /** Reports a file that a scan could not read. */
  | {
      readonly id: number;
      readonly method: 'damaged';
      readonly bucketUuid: string;
      readonly indexId: string;
    };

/** Answers to calls, and the complete newest state. */
export type LinkMessage =
  | { readonly kind: 'result'; readonly id: number; readonly result: unknown }
  /** `isUnwritable`: the configuration cannot be written now, and the reason is for the client. */
  | { readonly kind: 'failure'; readonly id: number; readonly reason: string; readonly isUnwritable: boolean }
  | {
      readonly kind: 'state';
      readonly indexes: readonly {
        readonly definition: IndexDefinition;
        readonly report: IndexReport | undefined;
      }[];
    };
