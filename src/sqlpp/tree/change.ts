// The syntax tree of statements that change documents.
import type { Expression, NamedParameter, PositionalParameter, RangeBinding } from './expression.ts';
import type { IndexRef, KeyspacePath, KeyspaceTerm, Projection, Select, SimpleTerm } from './query.ts';

/** A keyspace to write: its path, or a parameter that holds the path. */
export interface Target {
  readonly path: KeyspacePath | NamedParameter | PositionalParameter;
  readonly alias: string | undefined;
}

/** INSERT fails for an existing key, UPSERT replaces its document. */
export interface Insert {
  readonly kind: 'insert' | 'upsert';
  readonly into: Target;
  readonly source: InsertSource;
  readonly returning: Projection | undefined;
}

export type InsertSource =
  | { readonly kind: 'values'; readonly rows: readonly InsertRow[] }
  /** `(KEY k, VALUE v, OPTIONS o) SELECT …`; without VALUE the whole row is the document. */
  | {
      readonly kind: 'query';
      readonly key: Expression;
      readonly value: Expression | undefined;
      readonly options: Expression | undefined;
      readonly select: Select;
    };

export interface InsertRow {
  readonly key: Expression;
  readonly value: Expression;
  readonly options: Expression | undefined;
}

export interface Delete {
  readonly kind: 'delete';
  readonly from: Target;
  readonly keys: Expression | undefined;
  readonly indexes: readonly IndexRef[];
  readonly where: Expression | undefined;
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  readonly returning: Projection | undefined;
}

export interface Update {
  readonly kind: 'update';
  readonly target: Target;
  readonly keys: Expression | undefined;
  readonly indexes: readonly IndexRef[];
  readonly set: readonly SetTerm[];
  readonly unset: readonly UnsetTerm[];
  readonly where: Expression | undefined;
  readonly limit: Expression | undefined;
  readonly returning: Projection | undefined;
}

/** `path = value [FOR …]`. `meta`: the META() call that the path starts from, as in `META(d).expiration`. */
export interface SetTerm {
  readonly path: Expression;
  readonly value: Expression;
  readonly meta: Expression | undefined;
  readonly for: UpdateFor | undefined;
}

export interface UnsetTerm {
  readonly path: Expression;
  readonly meta: Expression | undefined;
  readonly for: UpdateFor | undefined;
}

/** `FOR a IN b FOR c IN d WHEN e END`: the last FOR is the outermost loop, and the first of `dimensions`. */
export interface UpdateFor {
  readonly dimensions: readonly (readonly RangeBinding[])[];
  readonly when: Expression | undefined;
}

export interface Merge {
  readonly kind: 'merge';
  readonly into: KeyspaceTerm;
  readonly using: SimpleTerm;
  /** ON KEY: `on` yields the key of the target document. */
  readonly isOnKey: boolean;
  readonly on: Expression;
  readonly update: MergeUpdate | undefined;
  readonly delete: { readonly where: Expression | undefined } | undefined;
  readonly insert: MergeInsert | undefined;
  readonly limit: Expression | undefined;
  readonly returning: Projection | undefined;
}

export interface MergeUpdate {
  readonly set: readonly SetTerm[];
  readonly unset: readonly UnsetTerm[];
  readonly where: Expression | undefined;
}

/** `key` is absent with ON KEY, which determines the key. */
export interface MergeInsert {
  readonly key: Expression | undefined;
  readonly value: Expression | undefined;
  readonly options: Expression | undefined;
  readonly where: Expression | undefined;
}
