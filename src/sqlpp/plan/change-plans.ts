// Plans of statements that change documents.
import type { Expression } from '../tree/expression.ts';
import type { Block, Source } from './block.ts';
import type { KeyspaceRef, LogicalProjection } from './logical.ts';
import type { Operator, QueryPlan } from './operators.ts';

export type ChangePlan = InsertPlan | UpdatePlan | DeletePlan | MergePlan;

interface Change {
  readonly block: Block;
  readonly target: KeyspaceRef;
  /** The target, from whose slots RETURNING reads the new document. */
  readonly source: Source;
  readonly returning: LogicalProjection | undefined;
  /** As in `QueryPlan`. */
  readonly covered: ReadonlyMap<string, number>;
  /** All changes are computed before the first one is written, since the statement also reads the keyspace that it changes. */
  readonly writesAtEnd: boolean;
}

export interface InsertPlan extends Change {
  readonly kind: 'insert' | 'upsert';
  readonly rows:
    | { readonly kind: 'values'; readonly values: readonly InsertValues[] }
    | {
        readonly kind: 'query';
        readonly query: QueryPlan;
        /** The slot from which `values` read a result of the query. */
        readonly rowSlot: number;
        readonly values: InsertValues;
      };
}

export interface InsertValues {
  readonly key: Expression;
  /** undefined: the whole result of the query. */
  readonly value: Expression | undefined;
  readonly options: Expression | undefined;
}

export interface UpdatePlan extends Change {
  readonly kind: 'update';
  readonly root: Operator;
  readonly changes: DocumentChanges;
}

export interface DocumentChanges {
  readonly set: readonly SetPlan[];
  readonly unset: readonly UnsetPlan[];
}

export interface UnsetPlan {
  readonly path: PathPlan;
  /** The root is META(). */
  readonly isMeta: boolean;
  readonly for: ForPlan | undefined;
}

export interface SetPlan extends UnsetPlan {
  readonly value: Expression;
}

/** A path such as `root.a[0].b`: the root is the document, META(), or a variable of FOR. */
export interface PathPlan {
  readonly rootSlot: number;
  readonly steps: readonly PathStep[];
}

export type PathStep =
  | { readonly kind: 'name'; readonly name: Expression }
  | { readonly kind: 'index'; readonly index: Expression };

export interface ForPlan {
  /** `FOR … FOR …`: the bindings of each FOR, the outermost first. */
  readonly dimensions: readonly (readonly ForBinding[])[];
  readonly when: Expression | undefined;
}

export interface ForBinding {
  readonly slot: number;
  readonly positionSlot: number | undefined;
  readonly of: Expression;
  /** WITHIN: includes nested values. */
  readonly isDeep: boolean;
}

export interface DeletePlan extends Change {
  readonly kind: 'delete';
  readonly root: Operator;
}

export interface MergePlan extends Change {
  readonly kind: 'merge';
  /** Rows of USING, joined with the target's documents (`ON`), or alone (`ON KEY`). */
  readonly root: Operator;
  /** `ON KEY key`: the key of the target's document for a row; undefined with `ON`. */
  readonly key: Expression | undefined;
  readonly update: { readonly changes: DocumentChanges; readonly where: Expression | undefined } | undefined;
  readonly delete: { readonly where: Expression | undefined } | undefined;
  readonly insert:
    | { readonly values: Partial<InsertValues>; readonly where: Expression | undefined }
    | undefined;
  readonly limit: Expression | undefined;
}
