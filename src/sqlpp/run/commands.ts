// Commands: statements that the engine passes to the query service, with names resolved and parameters evaluated.
import type { Keyspace, KeyspaceName } from '../datastore/keyspace.ts';
import type { StatisticsKey } from '../plan/statistics-keys.ts';
import type { Value } from '../values/value.ts';
import type { StatisticsOptions } from './statistics-options.ts';

export interface RoleGrant {
  readonly roles: readonly string[];
  /** Keyspaces, scopes (`collection` empty) and buckets (`scope` empty) of the roles; empty: all. */
  readonly targets: readonly KeyspaceName[];
  readonly users: readonly string[];
}

export interface FunctionName {
  readonly namespace: string;
  /** Empty for a global function. */
  readonly bucket: string;
  readonly scope: string;
  readonly name: string;
}

export type PlainCommand =
  | {
      readonly kind: 'CREATE_SCOPE' | 'DROP_SCOPE';
      readonly bucket: string;
      readonly scope: string;
      /** IF NOT EXISTS, or IF EXISTS of a drop. */
      readonly hasIfClause: boolean;
    }
  | {
      readonly kind: 'CREATE_COLLECTION' | 'DROP_COLLECTION' | 'FLUSH_COLLECTION';
      readonly keyspace: KeyspaceName;
      readonly hasIfClause: boolean;
      readonly options?: Value;
    }
  | ({ readonly kind: 'GRANT_ROLE' | 'REVOKE_ROLE' } & RoleGrant)
  | {
      readonly kind: 'UPDATE_STATISTICS';
      readonly keyspace: Keyspace;
      readonly change:
        | {
            readonly kind: 'gather';
            readonly keys: readonly StatisticsKey[];
            readonly options: StatisticsOptions;
          }
        /** `expressions`: names of statistics; null: all. */
        | { readonly kind: 'delete'; readonly expressions: readonly string[] | null };
    }
  | {
      readonly kind: 'CREATE_FUNCTION';
      readonly name: FunctionName;
      readonly parameters: readonly string[];
      readonly isVariadic: boolean;
      readonly language: 'inline' | 'javascript';
      /** Canonical text of an inline body, else the source, or the name within a library. */
      readonly body: string;
      readonly library?: string;
      readonly replaces: boolean;
      readonly hasIfClause: boolean;
    }
  | { readonly kind: 'DROP_FUNCTION'; readonly name: FunctionName; readonly hasIfClause: boolean }
  | {
      readonly kind: 'EXECUTE_FUNCTION';
      readonly name: FunctionName;
      /** A function of this name exists. */
      readonly isKnown: boolean;
      /** Expressions as texts. */
      readonly arguments: readonly string[];
    }
  | { readonly kind: 'START_TRANSACTION'; readonly isolation?: string }
  | { readonly kind: 'COMMIT' }
  | { readonly kind: 'ROLLBACK'; readonly savepoint?: string }
  | { readonly kind: 'SAVEPOINT'; readonly name: string }
  | { readonly kind: 'SET_TRANSACTION_ISOLATION'; readonly isolation: string };
