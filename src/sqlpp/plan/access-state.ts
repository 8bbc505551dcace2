// What the planner knows while it plans one SELECT, and what scans take over from it.
import type { Hints } from '../tree/query.ts';
import type { Block } from './block.ts';
import type { LogicalSelect, LogicalSubselect } from './logical.ts';
import type { Planning } from './planning.ts';
import type { Uses } from './uses.ts';

export interface Access {
  readonly planning: Planning;
  readonly block: Block;
  readonly uses: Uses;
  /** Slots that the first row has. */
  readonly seeds: ReadonlySet<number>;
  /** Of a SELECT, for what scans can do of it. */
  readonly select: LogicalSelect | undefined;
  readonly body: LogicalSubselect | undefined;
  readonly hints: Hints | undefined;
  /** The scan brings rows in the order of ORDER BY. */
  isOrdered: boolean;
  /** The scan does LIMIT and OFFSET. */
  isLimited: boolean;
  /** Expressions that stand in slots because an index brought them, by their keys. */
  readonly covered: Map<string, number>;
}

/** `first`: the scan from which all rows come; `inner`: the right side of a join, `mutation`: keys are taken once. */
export type Role = 'first' | 'inner' | 'mutation';
