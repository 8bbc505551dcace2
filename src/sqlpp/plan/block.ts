// The row layout of a query block: each alias, variable and computed value has a slot. Values of the outer block
// (correlation) are copied into slots of the inner block, so that a row is self-contained.
import type { Expression, Slot } from '../tree/expression.ts';

/** An expression of the outer block that is evaluated before the inner block runs. */
export interface Capture {
  readonly outer: Expression;
  readonly slot: number;
}

export class Block {
  /** The number of slots. */
  size = 0;
  readonly captures: Capture[] = [];
  readonly #captured = new Map<string | Expression, Slot>();

  /** The number of a new slot. */
  allocate(): number {
    return this.size++;
  }

  /** The slot in which this block finds the outer expression's value. */
  capture(outer: Expression): Slot {
    const key = captureKey(outer);
    const existing = this.#captured.get(key);
    if (existing) return existing;
    const slot = this.allocate();
    this.captures.push({ outer, slot });
    const original = outer.kind === 'slot' ? outer.original : outer;
    const captured: Slot = { kind: 'slot', slot, original, at: outer.at };
    this.#captured.set(key, captured);
    return captured;
  }

  /** Whether the slot has a value of the outer block. */
  isCaptured(slot: number): boolean {
    return this.captures.some((capture) => capture.slot === slot);
  }
}

/** An alias that stands for an expression stands for the same object each time. */
function captureKey(outer: Expression): string | Expression {
  if (outer.kind === 'slot') return `#${outer.slot}`;
  return outer.kind === 'identifier' ? `\`${outer.name}` : outer;
}

/** A FROM term: a keyspace, a subquery, an expression or an unnested array. */
export interface Source {
  readonly alias: string;
  /** The statement names the alias. */
  readonly isExplicit: boolean;
  /** The slot of the document, row or value. */
  readonly slot: number;
  /** Slots for documents: the key, and META(). */
  readonly idSlot: number | undefined;
  readonly metaSlot: number | undefined;
  /** Slot for UNNEST: the position of the element. */
  readonly positionSlot: number | undefined;
  readonly kind: 'keyspace' | 'subquery' | 'expression' | 'unnest';
  /** Names of extended attributes that the statement reads. */
  readonly xattrs: Set<string>;
  /** The statement uses META() for more than the key. */
  usesMeta: boolean;
  /** The statement reads the expiry, which the data service returns only on request. */
  usesExpiration: boolean;
}
