// Checks the clauses of a window: each function allows some, and needs some.
import { type SqlError, sqlError } from '../errors/sql-error.ts';
import { aggregateNamed } from '../functions/aggregates.ts';
import { staticValue } from '../text/static-value.ts';
import type {
  Aggregate,
  Expression,
  FrameBound,
  WindowFrame,
  WindowSpecification,
} from '../tree/expression.ts';

/** `over` is the window with the clauses of the named windows that it refines. @throws SqlError 3220 */
export function checkWindow({ name, arguments: args }: Aggregate, over: WindowSpecification): void {
  const rules = aggregateNamed(name);
  if (!rules) return;
  const refusal = (reason: string): SqlError => sqlError(3220, name.toUpperCase(), reason, '');
  const [, second] = args;
  // 0 passes here, other than the text says: LAG and LEAD refuse it when they run (5340).
  if (rules.needsWholeSecond && second && !mayBeWhole(second))
    throw refusal('second value must be positive non zero integer.');
  const { orderBy, frame } = over;
  if (orderBy.length === 0 && frame) throw refusal('window frame is not allowed without ORDER BY.');
  if (orderBy.length === 0 && rules.needsOrder) throw refusal('ORDER BY clause is required.');
  if (!frame) return;
  if (!rules.allowsFrame) throw refusal('window frame is not allowed.');
  if (!isOrdered(frame)) throw refusal('invalid window frame.');
  if (!distancesOf(frame).every((distance) => isDistance(distance, frame.unit)))
    throw refusal('window frame value expression is invalid.');
  if (orderBy.length > 1 && frame.unit === 'range' && !allowsSeveralKeys(frame))
    throw refusal('multiple ORDER BY terms are not allowed.');
}

/** The order of bounds: from the first row of the partition to the last. */
const boundOrder: Readonly<Record<FrameBound['kind'], number>> = {
  'unbounded preceding': 0,
  preceding: 1,
  'current row': 2,
  following: 3,
  'unbounded following': 4,
};

/** Whether the frame does not end before it starts; a frame with one bound ends with the current row. */
function isOrdered({ start, end }: WindowFrame): boolean {
  const last = end?.kind ?? 'current row';
  if (start.kind === 'unbounded following' || last === 'unbounded preceding') return false;
  return boundOrder[start.kind] <= boundOrder[last];
}

/** A frame's distances are the same for all rows of a partition. `isOfRow`: whether an expression reads the row. @throws SqlError 3220 */
export function refuseDistancesOfRows(
  name: string,
  frame: WindowFrame | undefined,
  isOfRow: (distance: Expression) => boolean,
): void {
  if (frame && distancesOf(frame).some(isOfRow))
    throw sqlError(3220, name.toUpperCase(), 'window frame value expression is invalid.', '');
}

const distancesOf = ({ start, end }: WindowFrame): readonly Expression[] =>
  [start, end].flatMap((bound) => (bound && 'distance' in bound ? [bound.distance] : []));

/** RANGE: a difference of values; ROWS and GROUPS: a number of rows or groups. */
function isDistance(distance: Expression, unit: WindowFrame['unit']): boolean {
  return unit === 'range' ? mayBe(distance, (number) => number >= 0) : mayBeWhole(distance);
}

/** Whole and not negative. */
const mayBeWhole = (expression: Expression): boolean =>
  mayBe(expression, (number) => number >= 0 && Number.isInteger(number));

/** Whether a literal is a number that passes the test; other expressions are checked when they have a value. */
function mayBe(expression: Expression, test: (number: number) => boolean): boolean {
  const found = staticValue(expression);
  if (!found) return true;
  const number = numberOf(found.value);
  return number !== undefined && test(number);
}

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;

/** A distance in values needs one key; the current row and its peers do not. */
const allowsSeveralKeys = ({ start, end }: WindowFrame): boolean =>
  !('distance' in start) && !(end && 'distance' in end);
