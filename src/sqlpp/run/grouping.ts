// GROUP BY and aggregates. The row of a group is a copy of the seed row (the values that the block uses of its outer query), with the keys, the
// aggregates and, for GROUP AS, the grouped rows.
import { type AggregateState, aggregateStateOf, readsWholeValues } from '../functions/aggregate-states.ts';
import type { LogicalGroup } from '../plan/logical.ts';
import { parsedIfLarge } from '../values/json-parse.ts';
import { isTrue } from '../values/types.ts';
import { newObject, setMember, type Value } from '../values/value.ts';
import { aggregateResult, readsMany } from './aggregate-results.ts';
import type { BlockCompiler, Code } from './code.ts';
import { type AggregateCode, type GroupInput, type GroupState, Groups } from './groups.ts';
import { batchRows, type Row } from './row.ts';
import type { Pull, Run } from './run.ts';

export function group(compiler: BlockCompiler, input: Pull, node: LogicalGroup): Pull {
  const keys = compiler.codes(node.keys.map((key) => key.expression));
  const aggregates = node.aggregates.map(({ node: aggregate, slot }): AggregateCode => {
    const [argument] = aggregate.arguments;
    return {
      slot,
      argument: argument && compiler.code(argument),
      readsWholeValues: readsWholeValues(aggregate),
      filter: aggregate.filter && compiler.code(aggregate.filter),
      create: () => aggregateStateOf(aggregate),
    };
  });
  const members = node.rows?.members.map(({ name, expression }) => ({
    name,
    code: compiler.code(expression),
  }));
  const lettingHaving = compileLettingHaving(compiler, node);
  return async function* pullGroups(run, seed) {
    const groups = new Groups(run, aggregates, members !== undefined);
    const inputs = new GroupInputs(keys, aggregates, members);
    try {
      for await (const rows of input(run, seed)) {
        const groupInputs: GroupInput[] = [];
        await run.each(rows, (row) => {
          groupInputs.push(inputs.of(run, row));
        });
        await groups.add(groupInputs);
        await run.yieldIfDue();
      }
      if (node.keys.length === 0) groups.ensureOne();
      for await (const states of groups.parts()) yield* groupRows(run, seed, node, states, lettingHaving);
    } finally {
      await groups.close();
    }
  };
}

async function* groupRows(
  run: Run,
  seed: Row,
  node: LogicalGroup,
  states: Iterable<GroupState>,
  lettingHaving: LettingHaving,
): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  for (const state of states) {
    const row = seed.slice();
    node.keys.forEach((key, at) => {
      row[key.slot] = state.keys[at];
    });
    let at = 0;
    for (const { slot } of node.aggregates) {
      const aggregate = state.states[at++] as AggregateState;
      row[slot] = readsMany(aggregate) ? await aggregateResult(run, aggregate) : aggregate.result();
    }
    if (node.rows) row[node.rows.slot] = state.rows;
    batch.push(row);
    if (batch.length < batchRows) continue;
    yield await lettingHaving(run, batch);
    batch = [];
    await run.yieldIfDue();
  }
  if (batch.length > 0) yield await lettingHaving(run, batch);
}

type LettingHaving = (run: Run, rows: Row[]) => Promise<Row[]>;

/** Adds the variables of LETTING to the rows of groups, and drops those that HAVING excludes. */
export function compileLettingHaving(
  compiler: BlockCompiler,
  node: Pick<LogicalGroup, 'letting' | 'having'>,
): LettingHaving {
  const letting = node.letting.map(({ slot, expression }) => ({ slot, code: compiler.code(expression) }));
  const having = node.having && compiler.code(node.having);
  return async (run, rows) => {
    const passing: Row[] = [];
    await run.each(rows, (row) => {
      for (const { slot, code } of letting) row[slot] = code.run(row, run.evaluation);
      if (!having || isTrue(having.run(row, run.evaluation))) passing.push(row);
    });
    return passing;
  };
}

/** Evaluates a row's keys and inputs before any change, because a subquery may cause the row to be processed again. */
class GroupInputs {
  readonly #keys: readonly Code[];
  readonly #aggregates: readonly AggregateCode[];
  readonly #members: readonly { readonly name: string; readonly code: Code }[] | undefined;

  constructor(
    keys: readonly Code[],
    aggregates: readonly AggregateCode[],
    members: readonly { readonly name: string; readonly code: Code }[] | undefined,
  ) {
    this.#keys = keys;
    this.#aggregates = aggregates;
    this.#members = members;
  }

  of(run: Run, row: Row): GroupInput {
    const { evaluation } = run;
    const keys: Value[] = [];
    for (const code of this.#keys) keys.push(parsedIfLarge(code.run(row, evaluation)));
    const values: Value[] = [];
    const passesFilter: boolean[] = [];
    for (const { argument, filter, readsWholeValues: isWhole } of this.#aggregates) {
      const passes = !filter || isTrue(filter.run(row, evaluation));
      passesFilter.push(passes);
      const value = passes && argument ? argument.run(row, evaluation) : undefined;
      values.push(isWhole ? parsedIfLarge(value) : value);
    }
    return { keys, values, passesFilter, member: this.#members && this.#memberOf(run, row) };
  }

  #memberOf(run: Run, row: Row): Value {
    const object = newObject();
    for (const { name, code } of this.#members ?? [])
      setMember(object, name, run.resolveDeep(code.run(row, run.evaluation)));
    return object;
  }
}
