// Frames: the rows of a partition over which a row's window function is computed.
import { sqlError } from '../errors/sql-error.ts';
import type { FrameBound, SortTerm, WindowFrame, WindowSpecification } from '../tree/expression.ts';
import { add } from '../values/arithmetic.ts';
import { collate } from '../values/collation.ts';
import type { Value } from '../values/value.ts';
import type { BlockCompiler, Code } from './code.ts';
import { firstIndex } from './first-index.ts';
import type { Row } from './row.ts';
import type { Run } from './run.ts';
import type { CompareKeys } from './sorting.ts';

export interface Partition {
  readonly rows: readonly Row[];
  /** The values of ORDER BY. */
  readonly keys: readonly (readonly Value[])[];
  readonly compare: CompareKeys;
  /** The number of the group of peers, rows with equal `keys`, that each row is in. */
  readonly peers: readonly number[];
}

/** Rows from `start` to `end`, inclusive; empty if start is above end. */
export interface Frame {
  readonly start: number;
  readonly end: number;
  isExcluded(at: number): boolean;
}

export interface FrameCode {
  /** The frame begins with the first row and never ends before that of an earlier row: the aggregate continues from row to row. */
  readonly isRunning: boolean;
  /** The frame is the whole partition. */
  readonly isWhole: boolean;
  prepare(run: Run, partition: Partition): Promise<(at: number) => Frame>;
}

const never = (): boolean => false;

export function compileFrame(compiler: BlockCompiler, over: WindowSpecification): FrameCode {
  const { frame } = over;
  if (!frame) return defaultFrame(over.orderBy.length > 0);
  const start = compileBound(compiler, frame.start);
  const end = compileBound(compiler, frame.end ?? { kind: 'current row' });
  const isDescendingIn = compileIsDescending(compiler, over.orderBy[0]?.direction);
  const isWhole =
    frame.start.kind === 'unbounded preceding' &&
    frame.end?.kind === 'unbounded following' &&
    frame.exclude === 'no others';
  return {
    isRunning: !isWhole && growsOnly(frame),
    isWhole,
    prepare: async (run, partition) => {
      const row = partition.rows[0] ?? [];
      const [from, to] = [await start(run, frame, row), await end(run, frame, row)];
      const isDescending = await isDescendingIn(run);
      return (at) => {
        const bounds = {
          start: boundIndex(partition, at, frame, from, 'start', isDescending),
          end: boundIndex(partition, at, frame, to, 'end', isDescending),
        };
        return { ...bounds, isExcluded: exclusion(partition, at, frame.exclude) };
      };
    },
  };
}

/** With RANGE, a distance from a value that is no number has no end, so that later frames may end earlier. */
const growsOnly = ({ start, end, unit, exclude }: WindowFrame): boolean =>
  start.kind === 'unbounded preceding' &&
  exclude === 'no others' &&
  (unit !== 'range' || end === undefined || !('distance' in end));

/** The direction of ORDER BY may be a parameter. */
function compileIsDescending(
  compiler: BlockCompiler,
  direction: SortTerm['direction'],
): (run: Run) => Promise<boolean> {
  if (typeof direction !== 'object') return async () => direction === 'desc';
  const code = compiler.code(direction);
  return async (run) => (await run.value(() => code.run([], run.evaluation))) === 'desc';
}

function defaultFrame(isOrdered: boolean): FrameCode {
  return {
    isRunning: isOrdered,
    isWhole: !isOrdered,
    prepare: async (_run, partition) => {
      const ends = isOrdered ? lastPeers(partition) : [];
      const last = partition.rows.length - 1;
      return (at) => ({ start: 0, end: isOrdered ? (ends[at] as number) : last, isExcluded: never });
    },
  };
}

/** The index of the last peer of each row. */
export function lastPeers({ peers }: Partition): number[] {
  const ends: number[] = new Array(peers.length);
  for (let at = peers.length - 1; at >= 0; at--) {
    ends[at] = at + 1 < peers.length && peers[at + 1] === peers[at] ? (ends[at + 1] as number) : at;
  }
  return ends;
}

interface BoundValue {
  readonly kind: FrameBound['kind'];
  readonly distance: number;
}

function compileBound(
  compiler: BlockCompiler,
  bound: FrameBound,
): (run: Run, frame: WindowFrame, row: Row) => Promise<BoundValue> {
  if (!('distance' in bound)) return async () => ({ kind: bound.kind, distance: 0 });
  const code: Code = compiler.code(bound.distance);
  return async (run, { unit }, row) => {
    const found = run.resolve(await run.value(() => code.run(row, run.evaluation)));
    const value = typeof found === 'bigint' ? Number(found) : found;
    if (typeof value !== 'number' || value < 0 || (unit !== 'range' && !Number.isInteger(value)))
      throw sqlError(
        5340,
        `The window frame's distance must be a ${unit === 'range' ? 'number' : 'whole number'} of 0 or more`,
      );
    return { kind: bound.kind, distance: value };
  };
}

/** The index of the row at which the frame of the row `at` starts or ends. */
function boundIndex(
  partition: Partition,
  at: number,
  frame: WindowFrame,
  bound: BoundValue,
  side: 'start' | 'end',
  isDescending: boolean,
): number {
  const last = partition.rows.length - 1;
  if (bound.kind === 'unbounded preceding') return 0;
  if (bound.kind === 'unbounded following') return last;
  const sign = bound.kind === 'preceding' ? -1 : bound.kind === 'following' ? 1 : 0;
  if (frame.unit === 'rows') {
    const index = at + sign * bound.distance;
    return side === 'start' ? Math.max(0, index) : Math.min(last, index);
  }
  if (frame.unit === 'groups' || sign === 0)
    return groupIndex(partition, (partition.peers[at] as number) + sign * bound.distance, side);
  return rangeIndex(partition, at, sign * bound.distance * (isDescending ? -1 : 1), side, isDescending);
}

/** The first row of the group or of a later one, or the last row of the group or of an earlier one. */
function groupIndex({ peers }: Partition, group: number, side: 'start' | 'end'): number {
  const peersAt = (at: number): number => peers[at] as number;
  if (side === 'start') return firstIndex(peers.length, (at) => peersAt(at) >= group);
  return firstIndex(peers.length, (at) => peersAt(at) > group) - 1;
}

/** RANGE: rows whose ORDER BY value is within the distance. The frame of NULL and MISSING has their peers; that of other types is empty. */
function rangeIndex(
  partition: Partition,
  at: number,
  distance: number,
  side: 'start' | 'end',
  isDescending: boolean,
): number {
  const { keys, peers } = partition;
  const current = keys[at]?.[0];
  const isNumber = typeof current === 'number' || typeof current === 'bigint';
  // A value that is not a number has no distance.
  if (!isNumber && current !== null && current !== undefined) return side === 'start' ? keys.length : -1;
  if (!isNumber) return groupIndex(partition, peers[at] as number, side);
  const edge = add(current, distance);
  // Values of other types are before or after all numbers: NULL and MISSING where NULLS FIRST or LAST puts them.
  const orderAt = (index: number): number => {
    const key = keys[index]?.[0];
    const isAbsent = key === null || key === undefined;
    return isAbsent ? index - at : collate(key, edge) * (isDescending ? -1 : 1);
  };
  if (side === 'start') return firstIndex(keys.length, (index) => orderAt(index) >= 0);
  return firstIndex(keys.length, (index) => orderAt(index) > 0) - 1;
}

/** Whether EXCLUDE removes a row from the frame of the row `at`. */
function exclusion(
  { peers }: Partition,
  at: number,
  exclude: WindowFrame['exclude'],
): (index: number) => boolean {
  switch (exclude) {
    case 'no others':
      return never;
    case 'current row':
      return (index) => index === at;
    case 'ties':
      return (index) => index !== at && peers[index] === peers[at];
    case 'group':
      return (index) => peers[index] === peers[at];
  }
}
