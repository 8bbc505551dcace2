// Refuses aggregates, window functions and ADVISOR() in clauses that do not allow them, and aggregates within each other. These checks read the
// tree as parsed; each subquery is checked separately.
import { type SqlError, sqlError } from '../errors/sql-error.ts';
import type { Aggregate, Expression, SortTerm } from '../tree/expression.ts';
import type { Subselect } from '../tree/query.ts';
import { near } from './resolving.ts';
import { childrenOf, some, visit } from './walk.ts';

type Clauses = Pick<Subselect, 'let' | 'where' | 'group' | 'projection'>;

/** @throws SqlError 4000 for an aggregate that its clause does not allow, within another aggregate, or with a subquery in FILTER */
export function checkAggregatePlaces(text: string, node: Clauses, orderBy: readonly SortTerm[]): void {
  const { group } = node;
  const expressionsOf = (list: readonly { readonly expression: Expression }[]) =>
    list.map(({ expression }) => expression);
  refuseAll(text, expressionsOf(node.let), 'LET');
  refuseAll(text, node.where ? [node.where] : [], 'WHERE');
  refuseAll(text, expressionsOf(group?.by ?? []), 'GROUP BY');
  const letting = expressionsOf(group?.letting ?? []);
  refuse(text, letting.flatMap(windowAggregatesIn), 'Window Aggregates not allowed in LETTING');
  const having = group?.having ? [group.having] : [];
  refuse(text, having.flatMap(windowAggregatesIn), 'Window Aggregates not allowed in HAVING');
  const projected = node.projection.terms.flatMap((term) => {
    const expression = term.kind === 'star' ? term.of : term.expression;
    return expression ? [expression] : [];
  });
  const sorted = expressionsOf(orderBy);
  const isGrouped =
    group !== undefined || projected.some((expression) => groupAggregatesIn(expression).length > 0);
  if (!isGrouped)
    refuse(text, sorted.flatMap(groupAggregatesIn), 'Aggregates not available for this ORDER BY');
  for (const expression of [...letting, ...having, ...projected, ...sorted]) checkNesting(text, expression);
}

function refuseAll(text: string, expressions: readonly Expression[], clause: string): void {
  refuse(text, expressions.flatMap(groupAggregatesIn), `Aggregates not allowed in ${clause}`);
  refuse(text, expressions.flatMap(windowAggregatesIn), `Window Aggregates not allowed in ${clause}`);
}

/** Refuses the first of the aggregates, if there is one. */
function refuse(text: string, [first]: readonly Aggregate[], reason: string): void {
  if (first) throw planError(text, reason, first);
}

function checkNesting(text: string, node: Expression): void {
  visit(node, (part) => {
    if (part.kind !== 'aggregate') return;
    const inner = childrenOf(part);
    const isWindow = part.over !== undefined;
    if (!isWindow && inner.some((operand) => groupAggregatesIn(operand).length > 0))
      throw planError(text, 'Nested aggregates are not allowed', part);
    if (inner.some((operand) => windowAggregatesIn(operand).length > 0))
      throw planError(
        text,
        `Window aggregates are not allowed inside ${isWindow ? 'Window ' : ''}Aggregates`,
        part,
      );
    if (part.filter && some(part.filter, ({ kind }) => kind === 'subquery'))
      throw planError(text, 'Subqueries are not allowed in aggregate filter', part.filter);
  });
}

const groupAggregatesIn = (node: Expression): Aggregate[] => aggregatesIn(node).filter(({ over }) => !over);
const windowAggregatesIn = (node: Expression): Aggregate[] => aggregatesIn(node).filter(({ over }) => over);

function aggregatesIn(node: Expression): Aggregate[] {
  const found: Aggregate[] = [];
  visit(node, (part) => {
    if (part.kind === 'aggregate') found.push(part);
  });
  return found;
}

const planError = (text: string, reason: string, { at }: Expression): SqlError =>
  sqlError(4000, `${reason}${near(text, at)}.`);

/** Refuses ADVISOR() outside the result of a SELECT without FROM: ADVISOR() is asynchronous, and its result does not depend on rows. @throws SqlError 3255, 3256 */
export function checkAdvisorPlaces(node: Subselect, orderBy: readonly SortTerm[]): void {
  const { group } = node;
  const elsewhere = [
    ...[...node.let, ...(group?.by ?? []), ...(group?.letting ?? []), ...orderBy].map(
      (each) => each.expression,
    ),
    node.where,
    group?.having,
  ];
  if (elsewhere.some(hasAdvisor)) throw sqlError(3255);
  if (!node.from) return;
  const projected = node.projection.terms.map((term) => (term.kind === 'star' ? term.of : term.expression));
  if (projected.some(hasAdvisor)) throw sqlError(3256);
}

const hasAdvisor = (node: Expression | undefined): boolean =>
  node !== undefined && some(node, (part) => part.kind === 'call' && part.name === 'advisor');
