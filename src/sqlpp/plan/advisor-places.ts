// Refuses ADVISOR() outside the result of a SELECT without FROM: it is asynchronous, and about statements, not rows.
import { sqlError } from '../errors/sql-error.ts';
import type { Expression, SortTerm, Subselect } from '../tree/query.ts';
import { some } from './walk.ts';

/** @throws SqlError 3255, 3256 */
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
