// The groups of GROUP BY. Above the request's memory share, rows of further groups are written to scratch files by hash of their keys; each
// file is grouped separately after the end of the input.
import type { AggregateState } from '../functions/aggregate-states.ts';
import type { Value } from '../values/value.ts';
import type { Code } from './code.ts';
import { groupKey, RowKeys } from './keys.ts';
import { deepestLevel, PartitionedRows, partitions } from './partitioned-rows.ts';
import type { Run } from './run.ts';
import { sizeOf } from './size.ts';

export interface AggregateCode {
  readonly slot: number;
  readonly argument: Code | undefined;
  /** Whether large values are parsed for the aggregate. */
  readonly readsWholeValues: boolean;
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

/** The estimated memory of a group in addition to its key and values, of its list of members, and of an aggregate's state. */
const groupBytes = 100;
const membersBytes = 40;
const stateBytes = 40;
/** The estimated overhead of each value that an aggregate stores. */
const storedValueBytes = 16;

export class Groups {
  readonly #run: Run;
  readonly #aggregates: readonly AggregateCode[];
  readonly #hasMembers: boolean;
  /** How many times these rows were already divided into scratch files. */
  readonly #level: number;
  readonly #rowKeys = new RowKeys(groupKey);
  /** The number of each group, by its key. */
  readonly #numbers = new Map<string, number>();
  // Columns in place of an object for each group: the objects would take as much memory again as the values in them.
  /** The keys of the first group, then those of the second one, and so on. */
  #keys: Value[] = [];
  /** The states of the aggregates of each group. */
  #states: AggregateState[] = [];
  /** For each group its rows, if they are collected. */
  #members: Value[][] = [];
  #count = 0;
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
    const pause = this.#run.slices.each(inputs, (input) => {
      const key = input.keys.length === 0 ? '' : this.#rowKeys.of(input.keys);
      const group = this.#groupOf(input, key);
      if (group >= 0) this.#addTo(group, input);
    });
    if (pause !== undefined) await pause;
    this.#run.hold(this.#bytes - before);
    await this.#spilled?.flush();
  }

  /** The number of the row's group; -1 if there is no memory for another group: the row is spilled. */
  #groupOf(input: GroupInput, key: string): number {
    const existing = this.#numbers.get(key);
    if (existing !== undefined) return existing;
    if (this.#bytes > this.#run.context.spillBytes && this.#level < deepestLevel) {
      this.#spilled ??= new PartitionedRows(this.#run, this.#level);
      this.#spilled.add(key, rowOf(input));
      return -1;
    }
    return this.#create(input.keys, key);
  }

  #addTo(group: number, { values, passesFilter, member }: GroupInput): void {
    const { length: count } = this.#aggregates;
    for (let at = 0; at < count; at++) {
      if (passesFilter[at]) this.#addValue(this.#states[group * count + at] as AggregateState, values[at]);
    }
    if (member === undefined || !this.#hasMembers) return;
    (this.#members[group] as Value[]).push(member);
    this.#bytes += sizeOf(member);
  }

  #addValue(state: AggregateState, value: Value): void {
    const { storedValues } = state;
    state.add(value);
    if (storedValues !== undefined && state.storedValues !== storedValues)
      this.#bytes += sizeOf(value) + storedValueBytes;
  }

  /** Returns the number of the new group. */
  #create(keys: readonly Value[], key: string): number {
    const group = this.#count++;
    this.#numbers.set(key, group);
    for (const value of keys) this.#keys.push(value);
    for (const aggregate of this.#aggregates) this.#states.push(aggregate.create());
    if (this.#hasMembers) this.#members.push([]);
    // The only group of a query without keys takes no memory worth counting.
    if (keys.length > 0) this.#bytes += this.#bytesOf(keys, key);
    return group;
  }

  #bytesOf(keys: readonly Value[], key: string): number {
    let bytes = 2 * key.length + groupBytes + stateBytes * this.#aggregates.length;
    if (this.#hasMembers) bytes += membersBytes;
    for (const value of keys) bytes += sizeOf(value);
    return bytes;
  }

  /** The only group of a query without keys exists even without rows. */
  ensureOne(): void {
    if (this.#count === 0) this.#create([], '');
  }

  /** Yields the groups in memory, then those of each file. */
  async *parts(): AsyncGenerator<Iterable<GroupState>> {
    yield this.#inMemory();
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

  *#inMemory(): Generator<GroupState> {
    const { length: states } = this.#aggregates;
    const count = this.#count;
    const keys = count === 0 ? 0 : this.#keys.length / count;
    for (let group = 0; group < count; group++) {
      yield {
        keys: this.#keys.slice(group * keys, (group + 1) * keys),
        states: this.#states.slice(group * states, (group + 1) * states),
        rows: this.#members[group],
      };
    }
  }

  #discard(): void {
    this.#numbers.clear();
    this.#keys = [];
    this.#states = [];
    this.#members = [];
    this.#count = 0;
    const bytes = this.#bytes;
    this.#bytes = 0;
    // The discarded groups may be one of several parts: after `release`, V8 would collect the garbage of many parts together.
    if (this.#spilled || this.#level > 0) this.#run.releaseDiscarded(bytes);
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
