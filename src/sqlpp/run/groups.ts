// The groups of GROUP BY. Above the request's share of memory rows of further groups go to scratch files, by hash of their keys; each
// file is grouped by itself when the input has ended.
import type { AggregateState } from '../functions/aggregate-states.ts';
import type { Value } from '../values/value.ts';
import type { Code } from './code.ts';
import type { ScratchFile } from './engine.ts';
import { valueKey } from './keys.ts';
import { decodeRows, encodeRows } from './row-codec.ts';
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

/** What one row adds to its group. */
export interface GroupInput {
  readonly keys: readonly Value[];
  readonly values: readonly Value[];
  readonly isWanted: readonly boolean[];
  /** Of GROUP AS. */
  readonly member: Value;
}

/** Files that overflowing groups are divided into. */
const partitions = 16;
const deepest = 4;
const spilledRows = 256;

export class Groups {
  readonly #run: Run;
  readonly #aggregates: readonly AggregateCode[];
  readonly #hasMembers: boolean;
  readonly #level: number;
  readonly #groups = new Map<string, GroupState>();
  #only: GroupState | undefined;
  #bytes = 0;
  #overflow: Overflow | undefined;

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
    await this.#overflow?.flush(spilledRows);
  }

  /** undefined: there is no room for another group, the row goes to a file. */
  #stateOf(input: GroupInput, key: string): GroupState | undefined {
    if (input.keys.length === 0) return this.ensureOne();
    const known = this.#groups.get(key);
    if (known) return known;
    if (this.#bytes > this.#run.context.spillBytes && this.#level < deepest) {
      this.#overflow ??= new Overflow(this.#run);
      this.#overflow.add(key, this.#level, input);
      return undefined;
    }
    const state = this.#create(input.keys);
    this.#groups.set(key, state);
    this.#bytes += 2 * key.length + 64 + 64 * this.#aggregates.length;
    return state;
  }

  #addTo(state: GroupState, { values, isWanted, member }: GroupInput): void {
    for (let at = 0; at < this.#aggregates.length; at++) {
      if (isWanted[at]) (state.states[at] as AggregateState).add(values[at]);
    }
    if (member === undefined || !state.rows) return;
    state.rows.push(member);
    this.#bytes += sizeOf(member);
  }

  #create(keys: readonly Value[]): GroupState {
    return {
      keys,
      states: this.#aggregates.map((aggregate) => aggregate.create()),
      rows: this.#hasMembers ? [] : undefined,
    };
  }

  ensureOne(): GroupState {
    this.#only ??= this.#create([]);
    return this.#only;
  }

  /** The groups in memory, then those of each file. */
  async *parts(): AsyncGenerator<Iterable<GroupState>> {
    yield this.#only ? [this.#only] : this.#groups.values();
    this.#forget();
    const overflow = this.#overflow;
    if (!overflow) return;
    await overflow.flush(1);
    for (let part = 0; part < partitions; part++) {
      const groups = new Groups(this.#run, this.#aggregates, this.#hasMembers, this.#level + 1);
      try {
        for await (const inputs of overflow.inputs(part)) {
          await groups.add(inputs);
          await this.#run.breathe();
        }
        yield* groups.parts();
      } finally {
        await groups.close();
      }
    }
  }

  #forget(): void {
    this.#groups.clear();
    this.#only = undefined;
    this.#run.release(this.#bytes);
    this.#bytes = 0;
  }

  async close(): Promise<void> {
    this.#forget();
    await this.#overflow?.close();
    this.#overflow = undefined;
  }
}

class Overflow {
  readonly #run: Run;
  readonly #waiting: GroupInput[][] = Array.from({ length: partitions }, () => []);
  readonly #places: { offset: number; length: number }[][] = Array.from({ length: partitions }, () => []);
  #file: ScratchFile | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  add(key: string, level: number, input: GroupInput): void {
    (this.#waiting[hashOf(key, level) % partitions] as GroupInput[]).push(input);
  }

  async flush(atLeast: number): Promise<void> {
    for (const [part, rows] of this.#waiting.entries()) {
      if (rows.length < atLeast) continue;
      this.#file ??= await this.#run.context.scratch();
      const encoded = rows.map(({ keys, values, isWanted, member }) => [keys, values, isWanted, member]);
      this.#waiting[part] = [];
      (this.#places[part] as { offset: number; length: number }[]).push(
        await this.#file.append(encodeRows(encoded)),
      );
    }
  }

  async *inputs(part: number): AsyncGenerator<GroupInput[]> {
    for (const place of this.#places[part] ?? []) {
      const bytes = await (this.#file as ScratchFile).read(place);
      yield decodeRows(bytes).map(([keys, values, isWanted, member]) => ({
        keys: keys as Value[],
        values: values as Value[],
        isWanted: isWanted as boolean[],
        member,
      }));
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}

/** FNV-1a; another one on each level, so that a file is divided further. */
function hashOf(text: string, level: number): number {
  let hash = 0x811c9dc5 ^ Math.imul(level + 1, 0x9e3779b1);
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
