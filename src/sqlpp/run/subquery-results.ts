// Results of subqueries in expressions, by subquery and captured values, and what a row needs of them.
import type { ResolvedSubquery } from '../plan/resolving.ts';
import type { Value } from '../values/value.ts';
import type { StatementMemory } from './held-memory.ts';
import { sizeOf } from './size.ts';

/** Thrown when an expression needs a subquery that has not run: the operator runs it and evaluates the expression again. */
export class SubqueryNeeded {
  readonly node: ResolvedSubquery;
  readonly values: readonly Value[];
  readonly key: string;

  constructor(node: ResolvedSubquery, values: readonly Value[], key: string) {
    this.node = node;
    this.values = values;
    this.key = key;
  }
}

/** The most cached results of correlated subqueries. */
const cachedMax = 10_000;

export class SubqueryResults {
  readonly #memory: StatementMemory;
  readonly #results = new Map<object, Map<string, Value>>();
  #correlated = 0;
  #bytes = 0;

  constructor(memory: StatementMemory) {
    this.#memory = memory;
  }

  /** The results of one subquery by the key of the captured values. */
  of(logical: object): ReadonlyMap<string, Value> | undefined {
    return this.#results.get(logical);
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(logical: object, key: string, value: Value): void {
    const bytes = bytesOf(key, value);
    this.#memory.hold(bytes);
    this.#bytes += bytes;
    this.#set(logical, key, value);
  }

  #set(logical: object, key: string, value: Value): void {
    let results = this.#results.get(logical);
    if (!results) this.#results.set(logical, (results = new Map()));
    results.set(key, value);
    if (key !== '') this.#correlated++;
  }

  /** Takes the results of a row that is done. A row needs all its results until it is done, so only this method limits their number. */
  takeFrom(row: SubqueryResults): void {
    if (row.#results.size === 0) return;
    if (this.#correlated + row.#correlated > cachedMax) this.#discardCorrelated();
    for (const [logical, results] of row.#results) {
      for (const [key, value] of results) {
        const isKept = (key === '' || this.#correlated < cachedMax) && !this.#results.get(logical)?.has(key);
        if (isKept) this.#set(logical, key, value);
        else row.#release(key, value);
      }
    }
    this.#bytes += row.#bytes;
    row.#results.clear();
    row.#correlated = 0;
    row.#bytes = 0;
  }

  /** Keeps the results that do not depend on a row: they are only one entry for each subquery. */
  #discardCorrelated(): void {
    for (const results of this.#results.values()) {
      for (const [key, value] of results) {
        if (key === '') continue;
        results.delete(key);
        this.#release(key, value);
      }
    }
    this.#correlated = 0;
  }

  #release(key: string, value: Value): void {
    const bytes = bytesOf(key, value);
    this.#bytes -= bytes;
    this.#memory.release(bytes);
  }
}

const bytesOf = (key: string, value: Value): number => key.length + sizeOf(value);

/** The most subqueries that run before a row is evaluated again. */
const aheadMax = 1024;

/**
 * What one evaluation of a row needs. Each evaluation begins from the start of the row, so a loop over thousands of elements goes on
 * to find what the next elements need: twice as many each time, since it may end before it reaches them.
 */
export class NeededResults {
  readonly #found = new Set<SubqueryNeeded>();
  #max = 1;

  /** Whether the loop continues after this error of one element. */
  add(error: SubqueryNeeded): boolean {
    const [first = error] = this.#found;
    // An outer loop gets the first error of an inner one, which is in the set.
    this.#found.add(error);
    return this.#found.size < this.#max && first.node === error.node;
  }

  /** What the evaluation that threw `first` needs next. */
  drain(first: SubqueryNeeded): readonly SubqueryNeeded[] {
    const ahead = [...this.#found].filter((each) => each !== first && each.node === first.node);
    this.#found.clear();
    this.#max = Math.min(this.#max * 2, aheadMax);
    return ahead;
  }

  /** Call before the next row. */
  clear(): void {
    this.#found.clear();
    this.#max = 1;
  }
}
