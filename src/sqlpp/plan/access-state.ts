// The state of planning one SELECT, or the scan of a statement that changes documents.
import type { Hints } from '../tree/query.ts';
import type { Block, Source } from './block.ts';
import type { LogicalSelect, LogicalSubselect } from './logical.ts';
import type { PlanningContext } from './planning.ts';
import type { NestableBounds } from './spans.ts';
import type { Uses } from './uses.ts';

/** `select`, `body` and `hints` are undefined for UPDATE, DELETE and MERGE, whose clauses no scan applies. */
export interface Access {
  readonly planning: PlanningContext;
  readonly block: Block;
  readonly uses: Uses;
  /** Slots that are set when the block begins: captured values and WITH. */
  readonly seeds: ReadonlySet<number>;
  /** The SELECT whose clauses scans can apply. */
  readonly select: LogicalSelect | undefined;
  /** The part of `select` without ORDER BY, LIMIT and OFFSET. */
  readonly body: LogicalSubselect | undefined;
  readonly hints: Hints | undefined;
  /** The scan returns rows in the order of ORDER BY. */
  isOrdered: boolean;
  /** The scan applies LIMIT and OFFSET. */
  isLimited: boolean;
  /** The scan does not apply LIMIT and OFFSET if one of these bounds is an array or an object when the statement runs. */
  nestableBounds: NestableBounds;
  /** Slots of expressions that a covering index provides, by expression key. */
  readonly covered: Map<string, number>;
  /** Sources that have no document in the rows that an outer join adds. */
  readonly optional: Set<Source>;
}

/** `first`: the first scan of FROM; `inner`: the right side of a join; `mutation`: finds documents to change, so that it returns each key once. */
export type ScanRole = 'first' | 'inner' | 'mutation';
