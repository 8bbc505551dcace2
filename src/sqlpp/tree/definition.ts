// The syntax tree of statements that change indexes, scopes, collections, functions, roles and statistics.
import type { Value } from '../values/value.ts';
import type { Expression, FunctionName, KeyTerm } from './expression.ts';
import type { IndexUsing, KeyspacePath } from './query.ts';

export interface CreateIndex {
  readonly kind: 'create index';
  /** Absent for a primary index without a name: `#primary`. */
  readonly name: string | undefined;
  readonly keyspace: KeyspacePath;
  readonly isPrimary: boolean;
  readonly keys: readonly KeyTerm[];
  readonly partitionBy: readonly Expression[];
  readonly where: Expression | undefined;
  readonly using: IndexUsing | undefined;
  /** The object of WITH. */
  readonly with: Value;
  readonly ifNotExists: boolean;
}

export interface DropIndex {
  readonly kind: 'drop index';
  readonly name: string | undefined;
  readonly keyspace: KeyspacePath;
  readonly isPrimary: boolean;
  readonly using: IndexUsing | undefined;
  readonly ifExists: boolean;
}

export interface AlterIndex {
  readonly kind: 'alter index';
  readonly name: string;
  readonly keyspace: KeyspacePath;
  readonly using: IndexUsing | undefined;
  readonly with: Value;
}

export interface BuildIndexes {
  readonly kind: 'build indexes';
  readonly keyspace: KeyspacePath;
  /** Names as identifiers, or expressions that yield names or arrays of them. */
  readonly names: readonly Expression[];
  readonly using: IndexUsing | undefined;
}

/** `path` has two parts. */
export interface CreateScope {
  readonly kind: 'create scope';
  readonly path: KeyspacePath;
  readonly ifNotExists: boolean;
}

export interface DropScope {
  readonly kind: 'drop scope';
  readonly path: KeyspacePath;
  readonly ifExists: boolean;
}

export interface CreateCollection {
  readonly kind: 'create collection';
  readonly path: KeyspacePath;
  readonly ifNotExists: boolean;
}

export interface DropCollection {
  readonly kind: 'drop collection';
  readonly path: KeyspacePath;
  readonly ifExists: boolean;
}

export interface FlushCollection {
  readonly kind: 'flush collection';
  readonly path: KeyspacePath;
}

export interface CreateFunction {
  readonly kind: 'create function';
  readonly name: FunctionName;
  /** undefined for `(...)`: any number of arguments, as the array `args`. */
  readonly parameters: readonly string[] | undefined;
  readonly body: FunctionBody;
  readonly isReplacing: boolean;
  readonly ifNotExists: boolean;
}

export type FunctionBody =
  | { readonly language: 'inline'; readonly expression: Expression; readonly text: string }
  | {
      readonly language: 'javascript' | 'golang';
      readonly object: string;
      readonly library: string;
    };

export interface DropFunction {
  readonly kind: 'drop function';
  readonly name: FunctionName;
  readonly ifExists: boolean;
}

export interface ExecuteFunction {
  readonly kind: 'execute function';
  readonly name: FunctionName;
  readonly arguments: readonly Expression[];
}

export interface GrantRoles {
  readonly kind: 'grant' | 'revoke';
  readonly roles: readonly string[];
  /** Keyspaces or scopes (two parts). Empty: the roles have no target. */
  readonly on: readonly KeyspacePath[];
  /** `name` or `domain:name`. */
  readonly users: readonly string[];
}

export interface UpdateStatistics {
  readonly kind: 'update statistics';
  readonly keyspace: KeyspacePath;
  readonly action:
    | { readonly kind: 'terms'; readonly terms: readonly Expression[] }
    /** Without terms: all statistics of the keyspace. */
    | { readonly kind: 'delete'; readonly terms: readonly Expression[] }
    | { readonly kind: 'indexes'; readonly names: readonly Expression[] }
    | { readonly kind: 'all indexes' };
  readonly with: Value;
}

export interface Infer {
  readonly kind: 'infer';
  readonly keyspace: KeyspacePath;
  readonly with: Value;
}
