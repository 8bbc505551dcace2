// Values of window functions over a sorted partition.
import { sqlError } from '../errors/sql-error.ts';
import { type AggregateState, aggregateStateOf } from '../functions/aggregate-states.ts';
import type { WindowColumn } from '../plan/logical.ts';
import type { Aggregate, Expression } from '../tree/expression.ts';
import { integerOf } from '../values/integer-value.ts';
import { isNumber, isTrue } from '../values/types.ts';
import type { Value } from '../values/value.ts';
import { aggregateResult, readsMany } from './aggregate-results.ts';
import type { BlockCompiler, Code } from './code.ts';
import { firstIndex } from './first-index.ts';
import type { StatementMemory } from './held-memory.ts';
import type { Row } from './row.ts';
import { eachInChunks, inChunks } from './rows-in-chunks.ts';
import type { Run } from './run.ts';
import { compileFrame, type Frame, type FrameCode, lastPeers, type Partition } from './window-frames.ts';

export type { Partition } from './window-frames.ts';

/** Writes the function's value into the slot of every row. `memory` counts values that no other row has. */
export type WindowFunction = (
  run: Run,
  partition: Partition,
  slot: number,
  memory: StatementMemory,
) => Promise<void>;

/** Rows of frames that are read between two looks at the clock. */
const readBetweenPauses = 4_096;

type Compile = (compiler: BlockCompiler, node: WindowColumn['node']) => WindowFunction;

export function compileWindowFunction(compiler: BlockCompiler, node: WindowColumn['node']): WindowFunction {
  return (byName[node.name] ?? overFrame)(compiler, node);
}

/** A function of the position of a row in the partition alone. */
function ranked(rankOf: (partition: Partition, at: number) => number): Compile {
  return () => async (run, partition, slot) => {
    await eachInChunks(run, partition.rows, (row, at) => {
      (row as Row)[slot] = rankOf(partition, at);
    });
  };
}

/** RANK. */
const ranks: Compile = () => async (run, partition, slot) => {
  let first = 0;
  await eachInChunks(run, partition.rows, (row, at) => {
    if (partition.peers[at] !== partition.peers[first]) first = at;
    (row as Row)[slot] = first + 1;
  });
};

/** PERCENT_RANK. */
const percentRanks: Compile = () => async (run, partition, slot) => {
  let first = 0;
  const others = partition.rows.length - 1;
  await eachInChunks(run, partition.rows, (row, at) => {
    if (partition.peers[at] !== partition.peers[first]) first = at;
    (row as Row)[slot] = others === 0 ? 0 : first / others;
  });
};

/** CUME_DIST. */
const cumulativeDistribution: Compile = () => async (run, partition, slot) => {
  const ends = lastPeers(partition);
  await eachInChunks(run, partition.rows, (row, at) => {
    (row as Row)[slot] = ((ends[at] as number) + 1) / partition.rows.length;
  });
};

/** NTILE, whose argument has the value of the partition's first row. */
const tiles: Compile = (compiler, node) => {
  const argument = compiler.code(node.arguments[0] as Expression);
  return async (run, partition, slot) => {
    const size = partition.rows.length;
    let value: Value;
    await run.each(partition.rows.slice(0, 1), (row) => {
      value = run.resolve(argument.run(row as Row, run.evaluation));
    });
    const count = isNumber(value) ? Math.trunc(Number(value)) : null;
    if (count !== null && !(count >= 1)) throw sqlError(5340, 'NTILE() needs a number of 1 or more');
    await eachInChunks(run, partition.rows, (row, at) => {
      (row as Row)[slot] = count && tileOf(at, size, count);
    });
  };
};

/** The number of the tile that has the row: the first tiles have one row more than the others. */
function tileOf(at: number, size: number, count: number): number {
  const small = Math.floor(size / count);
  const large = size % count;
  const rowsInLarge = large * (small + 1);
  const tile =
    at < rowsInLarge
      ? Math.floor(at / (small + 1))
      : large + Math.floor((at - rowsInLarge) / Math.max(1, small));
  return tile + 1;
}

/** Whether the value is neither NULL nor MISSING. */
const isKnown = (value: Value): boolean => value !== null && value !== undefined;

/** LAG and LEAD. */
function neighbours(direction: 1 | -1): Compile {
  return (compiler, node) => {
    const [argument, offset, otherwise] = compiler.codes(node.arguments);
    const skipsNull = node.nulls === 'ignore';
    return async (run, partition, slot) => {
      const values: Value[] = [];
      const found: Value[] = [];
      await run.each(partition.rows, (row, at) => {
        values[at] = (argument as Code).run(row as Row, run.evaluation);
      });
      const known = skipsNull ? [...values.keys()].filter((at) => isKnown(values[at])) : [];
      await run.each(partition.rows, (row, at) => {
        const steps = offset ? integerOf(run.resolve(offset.run(row as Row, run.evaluation))) : 1;
        if (steps === undefined || steps < 1)
          throw sqlError(
            5340,
            `${node.name.toUpperCase()}() needs a whole number of 1 or more as its second argument`,
          );
        const index = skipsNull ? knownNeighbour(known, at, steps, direction) : at + direction * steps;
        const isInside = index >= 0 && index < values.length;
        found[at] = isInside ? values[index] : otherwise ? otherwise.run(row as Row, run.evaluation) : null;
      });
      await eachInChunks(run, partition.rows, (row, at) => {
        (row as Row)[slot] = found[at];
      });
    };
  };
}

/** The index of the value `steps` known values away from a row; -1 if there are fewer. `known`: the indexes of the values other than NULL and MISSING. */
function knownNeighbour(known: readonly number[], at: number, steps: number, direction: 1 | -1): number {
  const next = firstIndex(known.length, (which) => (known[which] as number) >= (direction > 0 ? at + 1 : at));
  return known[direction > 0 ? next + steps - 1 : next - steps] ?? -1;
}

/** FIRST_VALUE, LAST_VALUE, NTH_VALUE. */
function valueInFrame(which: 'first' | 'last' | 'nth'): Compile {
  return (compiler, node) => {
    const [argument, position] = compiler.codes(node.arguments);
    const frame = compileFrame(compiler, node.over);
    const isFromLast = which === 'last' || node.isFromLast;
    return async (run, partition, slot) => {
      const values: Value[] = [];
      const wanted: number[] = [];
      await run.each(partition.rows, (row, at) => {
        values[at] = (argument as Code).run(row as Row, run.evaluation);
        wanted[at] = position ? positionOf(run.resolve(position.run(row as Row, run.evaluation)), node) : 1;
      });
      const frameAt = await frame.prepare(run, partition);
      let read = 0;
      for (const [at, row] of partition.rows.entries()) {
        const bounds = frameAt(at);
        (row as Row)[slot] = nthInFrame(
          values,
          bounds,
          wanted[at] as number,
          isFromLast,
          node.nulls === 'ignore',
        );
        read += sizeOfFrame(bounds);
        if (read < readBetweenPauses) continue;
        read = 0;
        await run.yieldIfDue();
      }
    };
  };
}

/** @throws SqlError 5340 */
function positionOf(value: Value, node: Aggregate): number {
  const position = integerOf(value);
  if (position === undefined || position < 1)
    throw sqlError(
      5340,
      `${node.name.toUpperCase()}() needs a whole number of 1 or more as its second argument`,
    );
  return position;
}

/** NULL if the frame has fewer rows; MISSING if the row has no value. */
function nthInFrame(
  values: readonly Value[],
  frame: Frame,
  wanted: number,
  isFromLast: boolean,
  skipsNull: boolean,
): Value {
  let remaining = wanted;
  const step = isFromLast ? -1 : 1;
  for (let at = isFromLast ? frame.end : frame.start; at >= frame.start && at <= frame.end; at += step) {
    const value = values[at];
    if (frame.isExcluded(at) || (skipsNull && !isKnown(value))) continue;
    if (--remaining === 0) return value;
  }
  return null;
}

/** How many rows a function reads for a row at most, the row itself included. */
const sizeOfFrame = ({ start, end }: Frame): number => 1 + Math.max(0, end - start + 1);

/** The memory of an array whose elements are values of rows. */
const sizeOfList = (length: number): number => 32 + 8 * length;

/** The argument of an aggregate for each row of a partition, and whether the row passes FILTER. */
interface Inputs {
  readonly values: readonly Value[];
  readonly passesFilter: readonly boolean[];
}

async function inputsOf(
  run: Run,
  partition: Partition,
  argument: Code | undefined,
  filter: Code | undefined,
): Promise<Inputs> {
  const values: Value[] = [];
  const passesFilter: boolean[] = [];
  await run.each(partition.rows, (row, at) => {
    passesFilter[at] = !filter || isTrue(filter.run(row as Row, run.evaluation));
    values[at] = passesFilter[at] && argument ? argument.run(row as Row, run.evaluation) : undefined;
  });
  return { values, passesFilter };
}

/** An aggregate over the frame of each row. */
const overFrame: Compile = (compiler, node) => {
  const [argument] = compiler.codes(node.arguments);
  const filter = node.filter && compiler.code(node.filter);
  const frame = compileFrame(compiler, node.over);
  return async (run, partition, slot, memory) => {
    const inputs = await inputsOf(run, partition, argument, filter);
    const results = await aggregated(run, node, partition, frame, inputs, memory);
    await eachInChunks(run, partition.rows, (row, at) => {
      (row as Row)[slot] = results[at];
    });
  };
};

/** The value of the aggregate over the frame of each row. */
async function aggregated(
  run: Run,
  node: Aggregate,
  partition: Partition,
  frame: FrameCode,
  inputs: Inputs,
  memory: Pick<StatementMemory, 'hold'>,
): Promise<Value[]> {
  const size = partition.rows.length;
  const frameAt = await frame.prepare(run, partition);
  const add = (state: AggregateState, first: number, last: number, at: Frame): Promise<void> | undefined =>
    inChunks(run, first, last + 1, (from, to) => {
      for (let index = from; index < to; index++) {
        if (inputs.passesFilter[index] && !at.isExcluded(index)) state.add(inputs.values[index]);
      }
    });
  let read = 0;
  const resultOf = (state: AggregateState): Value | Promise<Value> => {
    if (node.name === 'array_agg') memory.hold(sizeOfList(state.storedValues ?? 0));
    read += state.readValues ?? 0;
    return readsMany(state) ? aggregateResult(run, state) : state.result();
  };
  if (size === 0) return [];
  if (frame.isWhole) {
    const state = aggregateStateOf(node);
    await add(state, 0, size - 1, frameAt(0));
    return new Array<Value>(size).fill(await resultOf(state));
  }
  const results: Value[] = [];
  let running = aggregateStateOf(node, frame.isRunning);
  let next = 0;
  for (let at = 0; at < size; at++) {
    const bounds = frameAt(at);
    let isUnchanged = false;
    if (frame.isRunning) {
      isUnchanged = at > 0 && next > bounds.end;
      const adding = add(running, next, bounds.end, bounds);
      if (adding !== undefined) await adding;
      read += 1 + Math.max(0, bounds.end + 1 - next);
      next = Math.max(next, bounds.end + 1);
    } else {
      running = aggregateStateOf(node);
      const adding = add(running, Math.max(0, bounds.start), Math.min(size - 1, bounds.end), bounds);
      if (adding !== undefined) await adding;
      read += sizeOfFrame(bounds);
    }
    const result = isUnchanged ? results[at - 1] : resultOf(running);
    results[at] = result instanceof Promise ? await result : result;
    if (read < readBetweenPauses) continue;
    read = 0;
    await run.yieldIfDue();
  }
  return results;
}

const ratioToReport: Compile = (compiler, node) => {
  const [argument] = compiler.codes(node.arguments);
  const sum: Aggregate = { ...node, name: 'sum' };
  const frame = compileFrame(compiler, node.over);
  return async (run, partition, slot, memory) => {
    const inputs = await inputsOf(run, partition, argument, undefined);
    const sums = await aggregated(run, sum, partition, frame, inputs, memory);
    await eachInChunks(run, partition.rows, (row, at) => {
      const [value, total] = [run.resolve(inputs.values[at]), sums[at]];
      const isNumber =
        (typeof value === 'number' || typeof value === 'bigint') &&
        (typeof total === 'number' || typeof total === 'bigint');
      (row as Row)[slot] = isNumber && Number(total) !== 0 ? Number(value) / Number(total) : null;
    });
  };
};

const byName: Readonly<Record<string, Compile>> = {
  row_number: ranked((_partition, at) => at + 1),
  rank: ranks,
  dense_rank: ranked(({ peers }, at) => (peers[at] as number) + 1),
  percent_rank: percentRanks,
  cume_dist: cumulativeDistribution,
  ntile: tiles,
  lag: neighbours(-1),
  lead: neighbours(1),
  first_value: valueInFrame('first'),
  last_value: valueInFrame('last'),
  nth_value: valueInFrame('nth'),
  ratio_to_report: ratioToReport,
};
