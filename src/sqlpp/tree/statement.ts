// The syntax tree of a whole statement.
import type { Delete, Insert, Merge, Update } from './change.ts';
import type {
  AlterIndex,
  BuildIndexes,
  CreateCollection,
  CreateFunction,
  CreateIndex,
  CreateScope,
  DropCollection,
  DropFunction,
  DropIndex,
  DropScope,
  ExecuteFunction,
  FlushCollection,
  GrantRoles,
  Infer,
  UpdateStatistics,
} from './definition.ts';
import type { Expression } from './expression.ts';
import type { Select } from './query.ts';

export type Statement = PlainStatement | Explain | Advise | Prepare | Execute;

/** The statements that EXPLAIN, ADVISE and PREPARE accept. */
export type PlainStatement =
  | Select
  | Insert
  | Delete
  | Update
  | Merge
  | CreateIndex
  | DropIndex
  | AlterIndex
  | BuildIndexes
  | CreateScope
  | DropScope
  | CreateCollection
  | DropCollection
  | FlushCollection
  | CreateFunction
  | DropFunction
  | ExecuteFunction
  | GrantRoles
  | UpdateStatistics
  | Infer
  | BeginTransaction
  | CommitTransaction
  | RollbackTransaction
  | Savepoint
  | SetTransactionIsolation;

/** `text` is that of the inner statement. */
export interface Explain {
  readonly kind: 'explain';
  readonly statement: PlainStatement;
  readonly text: string;
}

export interface Advise {
  readonly kind: 'advise';
  readonly statement: PlainStatement;
  readonly text: string;
}

export interface Prepare {
  readonly kind: 'prepare';
  readonly name: string | undefined;
  /** PREPARE FORCE: replaces a prepared statement of the same name. */
  readonly isForced: boolean;
  readonly statement: PlainStatement;
  readonly text: string;
}

export interface Execute {
  readonly kind: 'execute';
  /** An identifier, a string, or another expression whose value is the name or the encoded plan. */
  readonly prepared: Expression;
  /** USING: an object of named or an array of positional arguments. */
  readonly using: Expression | undefined;
}

export interface BeginTransaction {
  readonly kind: 'begin transaction';
}

export interface CommitTransaction {
  readonly kind: 'commit transaction';
}

export interface RollbackTransaction {
  readonly kind: 'rollback transaction';
  readonly savepoint: string | undefined;
}

export interface Savepoint {
  readonly kind: 'savepoint';
  readonly name: string;
}

export interface SetTransactionIsolation {
  readonly kind: 'set transaction isolation';
}
