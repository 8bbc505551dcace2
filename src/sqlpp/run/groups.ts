// The groups of GROUP BY. Above the request's memory share, rows of further groups are written to scratch files by hash of their keys; each
// file is grouped separately after the end of the input.
import type { AggregateState } from '../functions/aggregate-states.ts';
import type { Value } from '../values/value.ts';
import type { Code } from './code.ts';
import { valueKey } from './keys.ts';
import { deepestLevel, PartitionedRows, partitions } from './partitioned-rows.ts';
import type { Run } from './run.ts';
import { sizeOf } from './size.ts';

export interface AggregateCode {
  readonly slot: number;
  readonly argument: Code | undefined;
  readonly filter: Code | undefined;
  create(): AggregateState;
}

export interface GroupState {
  readonly keys: readonly Value[];
  readonly states: readonly AggregateState[];
  readonly rows: Value[] | undefined;
}

/** The contribution of one row to its group. */
export interface GroupInput {
  readonly keys: readonly Value[];
  readonly values: readonly Value[];
  /** Whether the row passes the FILTER of each aggregate. */
  readonly passesFilter: readonly boolean[];
  /** The row as GROUP AS collects it. */
  readonly member: Value;
}

/** The estimated memory of a group beside its key and values, and of an aggregate's state. */
const groupBytes = 200;
const stateBytes = 64;
/** The estimated overhead of each value that an aggregate stores. */
const storedValueBytes = 16;

export class Groups {
  readonly #run: Run;
  readonly #aggregates: readonly AggregateCode[];
  readonly #hasMembers: boolean;
  readonly #level: number;
  readonly #groups = new Map<string, GroupState>();
  #only: GroupState | undefined;
  #bytes = 0;
  #spilled: PartitionedRows | undefined;

  constructor(run: Run, aggregates: readonly AggregateCode[], hasMembers: boolean, level = 0) {
    this.#run = run;
    this.#aggregates = aggregates;
    this.#hasMembers = hasMembers;
    this.#level = level;
  }

  async add(inputs: readonly GroupInput[]): Promise<void> {
    const before = this.#bytes;
    for (const input of inputs) {
      const key = input.keys.length === 0 ? '' : valueKey(input.keys);
      const state = this.#stateOf(input, key);
      if (state) this.#addTo(state, input);
    }
    this.#run.hold(this.#bytes - before);
    await this.#spilled?.flush();
  }

  /** undefined if there is no memory for another group: the row is spilled. */
  #stateOf(input: GroupInput, key: string): GroupState | undefined {
    if (input.keys.length === 0) return this.ensureOne();
    const existing = this.#groups.get(key);
    if (existing) return existing;
    if (this.#bytes > this.#run.context.spillBytes && this.#level < deepestLevel) {
      this.#spilled ??= new PartitionedRows(this.#run, this.#level);
      this.#spilled.add(key, rowOf(input));
      return undefined;
    }
    const state = this.#create(input.keys);
    this.#groups.set(key, state);
    this.#bytes += 2 * key.length + groupBytes + stateBytes * this.#aggregates.length;
    for (const value of input.keys) this.#bytes += sizeOf(value);
    return state;
  }

  #addTo(state: GroupState, { values, passesFilter, member }: GroupInput): void {
    for (let at = 0; at < this.#aggregates.length; at++) {
      if (passesFilter[at]) this.#addValue(state.states[at] as AggregateState, values[at]);
    }
    if (member === undefined || !state.rows) return;
    state.rows.push(member);
    this.#bytes += sizeOf(member);
  }

  #addValue(state: AggregateState, value: Value): void {
    const { storedValues } = state;
    state.add(value);
    if (storedValues !== undefined && state.storedValues !== storedValues)
      this.#bytes += sizeOf(value) + storedValueBytes;
  }

  #create(keys: readonly Value[]): GroupState {
    return {
      keys,
      states: this.#aggregates.map((aggregate) => aggregate.create()),
      rows: this.#hasMembers ? [] : undefined,
    };
  }

  /** The only group of a query without keys, which exists even without rows. */
  ensureOne(): GroupState {
    this.#only ??= this.#create([]);
    return this.#only;
  }

  /** Yields the groups in memory, then those of each file. */
  async *parts(): AsyncGenerator<Iterable<GroupState>> {
    yield this.#only ? [this.#only] : this.#groups.values();
    this.#discard();
    const spilled = this.#spilled;
    if (!spilled) return;
    for (let part = 0; part < partitions; part++) {
      const groups = new Groups(this.#run, this.#aggregates, this.#hasMembers, this.#level + 1);
      try {
        for await (const rows of spilled.rows(part)) await groups.add(rows.map(inputOf));
        yield* groups.parts();
      } finally {
        await groups.close();
      }
    }
  }

  #discard(): void {
    this.#groups.clear();
    this.#only = undefined;
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (this.#spilled) this.#run.releaseAll(bytes);
    else this.#run.release(bytes);
  }

  async close(): Promise<void> {
    this.#discard();
    await this.#spilled?.close();
    this.#spilled = undefined;
  }
}

const rowOf = ({ keys, values, passesFilter, member }: GroupInput): Value[] => [
  keys,
  values,
  passesFilter,
  member,
];

const inputOf = ([keys, values, passesFilter, member]: readonly Value[]): GroupInput => ({
  keys: keys as Value[],
  values: values as Value[],
  passesFilter: passesFilter as boolean[],
  member,
});
