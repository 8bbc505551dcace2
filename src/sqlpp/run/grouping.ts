// GROUP BY and aggregates. A group's row holds its keys and aggregates, and what the block captured.

import { type AggregateState, aggregateStateOf } from '../functions/aggregate-states.ts';
import type { LogicalGroup } from '../plan/logical.ts';
import { isTrue } from '../values/types.ts';
import { newObject, setMember, type Value } from '../values/value.ts';
import type { Code, CodeBook } from './code.ts';
import { valueKey } from './keys.ts';
import { batchRows, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';
import { sizeOf } from './size.ts';

interface AggregateCode {
  readonly slot: number;
  readonly argument: Code | undefined;
  readonly filter: Code | undefined;
  create(): AggregateState;
}

interface GroupState {
  readonly keys: readonly Value[];
  readonly states: readonly AggregateState[];
  readonly rows: Value[] | undefined;
}

export function group(book: CodeBook, input: Pull, node: LogicalGroup): Pull {
  const keys = book.codes(node.keys.map((key) => key.expression));
  const aggregates = node.aggregates.map(({ node: aggregate, slot }): AggregateCode => {
    const [argument] = aggregate.arguments;
    return {
      slot,
      argument: argument && book.code(argument),
      filter: aggregate.filter && book.code(aggregate.filter),
      create: () => aggregateStateOf(aggregate),
    };
  });
  const members = node.rows?.members.map(({ name, expression }) => ({ name, code: book.code(expression) }));
  const after = compileAfter(book, node);
  return async function* pullGroups(run, seed) {
    const groups = new Groups(keys, aggregates, members);
    let held = 0;
    try {
      for await (const rows of input(run, seed)) {
        const before = groups.bytes;
        await run.each(rows, (row) => groups.add(run, row));
        run.hold(groups.bytes - before);
        held = groups.bytes;
        await run.breathe();
      }
      if (node.keys.length === 0) groups.ensureOne();
      yield* groupRows(run, seed, node, groups, after);
    } finally {
      run.release(held);
    }
  };
}

async function* groupRows(
  run: Run,
  seed: Row,
  node: LogicalGroup,
  groups: Groups,
  after: After,
): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  for (const state of groups.states()) {
    const row = seed.slice();
    node.keys.forEach((key, at) => {
      row[key.slot] = state.keys[at];
    });
    node.aggregates.forEach(({ slot }, at) => {
      row[slot] = state.states[at]?.result();
    });
    if (node.rows) row[node.rows.slot] = state.rows;
    batch.push(row);
    if (batch.length < batchRows) continue;
    yield await after(run, batch);
    batch = [];
    await run.breathe();
  }
  if (batch.length > 0) yield await after(run, batch);
}

type After = (run: Run, rows: Row[]) => Promise<Row[]>;

/** LETTING and HAVING. */
export function compileAfter(book: CodeBook, node: Pick<LogicalGroup, 'letting' | 'having'>): After {
  const letting = node.letting.map(({ slot, expression }) => ({ slot, code: book.code(expression) }));
  const having = node.having && book.code(node.having);
  return async (run, rows) => {
    const kept: Row[] = [];
    await run.each(rows, (row) => {
      for (const { slot, code } of letting) row[slot] = code.run(row, run.evaluation);
      if (!having || isTrue(having.run(row, run.evaluation))) kept.push(row);
    });
    return kept;
  };
}

class Groups {
  bytes = 0;
  readonly #keys: readonly Code[];
  readonly #aggregates: readonly AggregateCode[];
  readonly #members: readonly { readonly name: string; readonly code: Code }[] | undefined;
  readonly #groups = new Map<string, GroupState>();
  #only: GroupState | undefined;

  constructor(
    keys: readonly Code[],
    aggregates: readonly AggregateCode[],
    members: readonly { readonly name: string; readonly code: Code }[] | undefined,
  ) {
    this.#keys = keys;
    this.#aggregates = aggregates;
    this.#members = members;
  }

  /** Evaluates everything before it changes anything: a subquery may make the row come again. */
  add(run: Run, row: Row): void {
    const { evaluation } = run;
    const keys: Value[] = [];
    for (const code of this.#keys) keys.push(code.run(row, evaluation));
    const values: Value[] = [];
    const isWanted: boolean[] = [];
    for (const { argument, filter } of this.#aggregates) {
      const wanted = !filter || isTrue(filter.run(row, evaluation));
      isWanted.push(wanted);
      values.push(wanted && argument ? argument.run(row, evaluation) : undefined);
    }
    const member = this.#members && this.#memberOf(run, row);
    const state = this.#stateOf(keys);
    for (let at = 0; at < this.#aggregates.length; at++) {
      if (isWanted[at]) (state.states[at] as AggregateState).add(values[at]);
    }
    if (member === undefined || !state.rows) return;
    state.rows.push(member);
    this.bytes += sizeOf(member);
  }

  #memberOf(run: Run, row: Row): Value {
    const object = newObject();
    for (const { name, code } of this.#members ?? [])
      setMember(object, name, run.resolveDeep(code.run(row, run.evaluation)));
    return object;
  }

  #stateOf(keys: readonly Value[]): GroupState {
    if (keys.length === 0) return this.ensureOne();
    const key = valueKey(keys);
    let state = this.#groups.get(key);
    if (!state) {
      state = this.#create(keys);
      this.#groups.set(key, state);
      this.bytes += 2 * key.length + 64 + 64 * this.#aggregates.length;
    }
    return state;
  }

  #create(keys: readonly Value[]): GroupState {
    return {
      keys,
      states: this.#aggregates.map((aggregate) => aggregate.create()),
      rows: this.#members ? [] : undefined,
    };
  }

  ensureOne(): GroupState {
    this.#only ??= this.#create([]);
    return this.#only;
  }

  *states(): Generator<GroupState> {
    if (this.#only) yield this.#only;
    yield* this.#groups.values();
  }
}
