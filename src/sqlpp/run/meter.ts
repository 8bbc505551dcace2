// Measures each operator of a run: rows, its own time, the time of other requests, and the time in the data and index services.
// Only for requests with a profile; other runs have no meter.
import type { Documents } from '../datastore/documents.ts';
import type { Indexes } from '../datastore/indexes.ts';
import type { Catalog, Datastore, Outcome } from './engine.ts';
import type { Batch } from './row.ts';

export interface OperatorStats {
  itemsIn: number;
  itemsOut: number;
  /** How often the thread began and ended a step of the operator. */
  switches: number;
  /** Time of the operator itself, without the operators below it. */
  execMs: number;
  /** Time during which the thread served other requests. */
  kernMs: number;
  /** Time of waiting for the data and index services. */
  servMs: number;
}

/** One measured step of an operator. */
interface Step {
  readonly stats: OperatorStats;
  /** Time of waits and of operators below, which is counted separately. */
  otherMs: number;
}

export class Meter {
  readonly #now: () => number;
  readonly #stats = new Map<object, OperatorStats>();
  #step: Step | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The stats of an operator, or of a whole statement by its plan; undefined if it never ran. */
  statsOf(operator: object): OperatorStats | undefined {
    return this.#stats.get(operator);
  }

  /** The stats of all operators and statements that ran. */
  entries(): Iterable<[object, OperatorStats]> {
    return this.#stats;
  }

  /** Passes the batches of an operator on, and measures the read of each batch. */
  rows<T extends { readonly length: number } = Batch>(
    operator: object,
    batches: AsyncIterable<T>,
  ): AsyncGenerator<T> {
    return eachMeasured(batches, async (read) => {
      const stats = this.#statsFor(operator);
      const next = await this.#within(stats, read);
      if (next.done) return next;
      stats.itemsOut += next.value.length;
      if (this.#step) this.#step.stats.itemsIn += next.value.length;
      return next;
    });
  }

  /** Counts a wait for the thread or for a service, which does not belong to the operator's own time. */
  async wait<T>(kind: 'kernMs' | 'servMs', act: () => Promise<T>): Promise<T> {
    const end = this.#beginWait(kind);
    try {
      return await act();
    } finally {
      end();
    }
  }

  /** Counts the time of a service that runs in this thread. */
  #serveNow<T>(act: () => T): T {
    const end = this.#beginWait('servMs');
    try {
      return act();
    } finally {
      end();
    }
  }

  #beginWait(kind: 'kernMs' | 'servMs'): () => void {
    const step = this.#step;
    const startMs = this.#now();
    return () => {
      const ms = this.#now() - startMs;
      if (!step) return;
      step.stats[kind] += ms;
      step.otherMs += ms;
    };
  }

  /** The stats of the operator, created at its first step. */
  #statsFor(operator: object): OperatorStats {
    let stats = this.#stats.get(operator);
    if (!stats) {
      stats = { itemsIn: 0, itemsOut: 0, switches: 0, execMs: 0, kernMs: 0, servMs: 0 };
      this.#stats.set(operator, stats);
    }
    return stats;
  }

  async #within<T>(stats: OperatorStats, act: () => Promise<T>): Promise<T> {
    const outer = this.#step;
    const step: Step = { stats, otherMs: 0 };
    this.#step = step;
    const startMs = this.#now();
    try {
      return await act();
    } finally {
      const ms = this.#now() - startMs;
      stats.execMs += Math.max(0, ms - step.otherMs);
      stats.switches += 2;
      if (outer) outer.otherMs += ms;
      this.#step = outer;
    }
  }

  /** The datastore with its time counted. */
  datastore(inner: Datastore): Datastore {
    const { documents, indexes, catalog } = inner;
    const serve = <T>(act: () => Promise<T>): Promise<T> => this.wait('servMs', act);
    const each = <T>(batches: AsyncIterable<T>): AsyncIterable<T> => eachMeasured(batches, serve);
    const measured: Documents = {
      // Not counted as time of the service: the callback that takes the documents is the operator's own work.
      readNow: (...args) => documents.readNow?.(...args) ?? null,
      read: (...args) => serve(async () => await documents.read(...args)),
      scan: (...args) => each(documents.scan(...args)),
      count: (...args) => serve(() => documents.count(...args)),
      write: (...args) => serve(() => documents.write(...args)),
    };
    const measuredIndexes: Indexes = {
      indexesOf: (keyspace) => indexes.indexesOf(keyspace),
      scan: (scan) => each(indexes.scan(scan)),
      scanNow: (scan) => this.#serveNow(() => indexes.scanNow?.(scan) ?? 'waits'),
      figures: (index) => serve(() => indexes.figures(index)),
    };
    const measuredCatalog: Catalog = {
      has: (collection) => catalog.has(collection),
      scan: (...args) => each(catalog.scan(...args)),
      remove: (...args) => serve(() => catalog.remove(...args)),
    };
    return {
      find: (name) => inner.find(name),
      indexAdmin: inner.indexAdmin,
      documents: measured,
      indexes: measuredIndexes,
      catalog: measuredCatalog,
    };
  }
}

/** Passes the batches on; `measure` runs each read of the next one. */
async function* eachMeasured<T>(
  batches: AsyncIterable<T>,
  measure: (read: () => Promise<IteratorResult<T>>) => Promise<IteratorResult<T>>,
): AsyncGenerator<T> {
  const iterator = batches[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await measure(() => iterator.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}

/** The published names of phases, by operator or kind of statement; `phaseOf` names those of joins. */
const phaseNames: Readonly<Record<string, string>> = {
  'key scan': 'keyScan',
  'index scan': 'indexScan',
  'union scan': 'unionScan',
  'collection scan': 'primaryScan',
  'count scan': 'count',
  fetch: 'fetch',
  filter: 'filter',
  project: 'project',
  order: 'sort',
  insert: 'insert',
  upsert: 'upsert',
  update: 'update',
  delete: 'delete',
  merge: 'merge',
};

/** Scans and reads count their items themselves, in every run. */
const counted = new Set(['keyScan', 'indexScan', 'primaryScan', 'count', 'fetch']);

/** Adds the times and items of operators to the phases. */
export function addPhases({ phases }: Outcome, meter: Meter): void {
  for (const [operator, { itemsIn, itemsOut, execMs, kernMs, servMs }] of meter.entries()) {
    const name = phaseOf(operator as PhaseFields);
    if (name === undefined) continue;
    const phase = phases.get(name) ?? { operators: 0, items: 0, ms: 0 };
    phases.set(name, phase);
    phase.operators++;
    phase.ms += execMs + kernMs + servMs;
    if (!counted.has(name)) phase.items += itemsIn > 0 ? itemsIn : itemsOut;
  }
}

/** The fields of an operator or of a statement that decide its phase. */
interface PhaseFields {
  /** The name of an operator. */
  readonly op?: string;
  /** The kind of a statement. */
  readonly kind?: string;
  /** A field of joins: see the operators of plans. */
  readonly nestSlot?: number;
  readonly isLookup?: boolean;
}

function phaseOf(operator: PhaseFields): string | undefined {
  const name = operator.op ?? operator.kind ?? '';
  if (name !== 'join' && name !== 'hash join') return phaseNames[name];
  const isNest = operator.nestSlot !== undefined;
  if (name === 'hash join') return isNest ? 'hashNest' : 'hashJoin';
  if (operator.isLookup) return isNest ? 'nest' : 'join';
  return isNest ? 'nestedLoopNest' : 'nestedLoopJoin';
}
