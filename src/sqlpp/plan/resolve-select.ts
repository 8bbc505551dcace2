// Resolves the clauses of a SELECT in the order in which names come into scope. In steps, since a clause may have many thousands of terms.
import { mapInSteps, resultOf, type WorkSteps } from '#base/steps.ts';
import { sqlError } from '../errors/sql-error.ts';
import { aliasOf } from '../tree/alias.ts';
import type { SortTerm } from '../tree/expression.ts';
import { identifierOf, notInText } from '../tree/identifier.ts';
import type { Binding, Projection, Select, SelectBody, Subselect, With } from '../tree/query.ts';
import { checkAdvisorPlaces, checkAggregatePlaces } from './aggregate-places.ts';
import { Block, type Source } from './block.ts';
import { GroupResolution } from './grouping.ts';
import type {
  LogicalBody,
  LogicalProjection,
  LogicalSelect,
  LogicalSetOperation,
  LogicalSubselect,
  LogicalWith,
  NamedExpression,
  OrderTerm,
  ProjectionTerm,
  SlotBinding,
} from './logical.ts';
import { membersOf, refuseDuplicate } from './resolve-expression.ts';
import { refuseFirstHint, resolveFrom } from './resolve-from.ts';
import { type NameResolver, near } from './resolving.ts';
import { Scope, slotOf } from './scope.ts';

export function* resolveSelect(
  resolver: NameResolver,
  select: Select,
  outer: Scope | undefined,
): WorkSteps<LogicalSelect> {
  const block = new Block();
  const scope = new Scope(block, outer);
  const withTerms = select.with ? resolveWith(resolver, select.with, scope) : [];
  const { body, order } = yield* resolveBody(resolver, select.body, select.orderBy, scope.inner());
  return {
    block,
    with: withTerms,
    body,
    order,
    limit: select.limit && resolver.expression(select.limit, scope),
    offset: select.offset && resolver.expression(select.offset, scope),
  };
}

function resolveWith(resolver: NameResolver, clause: With, scope: Scope): LogicalWith[] {
  return clause.terms.map(({ alias, expression, at }) => {
    refuseDuplicate(resolver.text, alias, scope, at);
    const slot = scope.block.allocate();
    const variable = slotOf(slot, identifierOf(alias, at));
    if (clause.isRecursive && expression.kind === 'subquery' && isRecursiveUnion(expression.select, alias)) {
      const union = expression.select.body as Extract<SelectBody, { kind: 'set operation' }>;
      const anchor: Select = {
        ...expression.select,
        body: union.left,
        orderBy: [],
        limit: undefined,
        offset: undefined,
      };
      const resolved = resolver.expression({ ...expression, select: anchor }, scope);
      scope.bindVariable(alias, variable, true);
      const step = resolver.select({ ...anchor, body: union.right }, scope);
      return { alias, slot, expression: resolved, recursive: { isAll: union.isAll, step } };
    }
    const resolved = resolver.expression(expression, scope);
    scope.bindVariable(alias, variable, true);
    return { alias, slot, expression: resolved };
  });
}

/** Whether the query is a UNION whose right side has an identifier of this name: that is the WITH term itself, unless the right side binds the name. */
const isRecursiveUnion = ({ body }: Select, alias: string): boolean =>
  body.kind === 'set operation' && body.operator === 'union' && hasIdentifier(body.right, alias);

function hasIdentifier(tree: object, name: string): boolean {
  const remaining = [tree];
  for (let node = remaining.pop(); node !== undefined; node = remaining.pop()) {
    const { kind, name: ownName } = node as { readonly kind?: unknown; readonly name?: unknown };
    if (kind === 'constant') continue;
    if (kind === 'identifier' && ownName === name) return true;
    for (const child of Object.values(node))
      if (typeof child === 'object' && child !== null) remaining.push(child);
  }
  return false;
}

function* resolveBody(
  resolver: NameResolver,
  body: SelectBody,
  orderBy: readonly SortTerm[],
  scope: Scope,
): WorkSteps<{ body: LogicalBody; order: OrderTerm[] }> {
  if (body.kind === 'subselect') return yield* resolveSubselect(resolver, body, orderBy, scope);
  const operation = resolveSetOperation(resolver, body, scope);
  const fields = new Map<string, number>();
  const inner = scope.inner();
  for (const name of resultNames(body)) {
    const slot = scope.block.allocate();
    fields.set(name, slot);
    inner.bindVariable(name, slotOf(slot, identifierOf(name)));
  }
  return { body: { ...operation, fields }, order: yield* resolveOrder(resolver, orderBy, inner) };
}

function resolveSetOperation(
  resolver: NameResolver,
  body: Exclude<SelectBody, Subselect>,
  scope: Scope,
): LogicalSetOperation {
  const resultSlot = scope.block.allocate();
  const fields = new Map<string, number>();
  const operand = (side: SelectBody): LogicalSelect =>
    resolver.select(side.kind === 'nested select' ? side.select : selectOf(side), scope);
  if (body.kind === 'nested select') {
    const left = operand(body);
    return {
      kind: 'set operation',
      operator: 'union',
      isAll: true,
      left,
      right: undefined,
      resultSlot,
      fields,
    };
  }
  const { operator, isAll } = body;
  const left = operand(body.left);
  return { kind: 'set operation', operator, isAll, left, right: operand(body.right), resultSlot, fields };
}

/** The operand of a set operation as a query without ORDER BY and LIMIT. */
function selectOf(body: SelectBody): Select {
  return {
    kind: 'select',
    with: undefined,
    body,
    orderBy: [],
    limit: undefined,
    offset: undefined,
    at: 'at' in body ? body.at : notInText,
  };
}

/** The result names of the first operand, which ORDER BY of a set operation uses. */
function resultNames(body: SelectBody): string[] {
  if (body.kind === 'set operation') return resultNames(body.left);
  if (body.kind === 'nested select') return resultNames(body.select.body);
  return namesOf(body.projection).filter((name) => name !== '');
}

function* resolveSubselect(
  resolver: NameResolver,
  node: Subselect,
  orderBy: readonly SortTerm[],
  outer: Scope,
): WorkSteps<{ body: LogicalSubselect; order: OrderTerm[] }> {
  checkAggregatePlaces(resolver.text, node, orderBy);
  checkAdvisorPlaces(node, orderBy);
  yield;
  const scope = outer.inner();
  const sources: Source[] = [];
  if (node.from) refuseFirstHint(node.from);
  const from = node.from && resolveFrom(resolver, node.from, scope, sources);
  const bindings = yield* resolveLet(resolver, node.let, scope);
  const where = node.where && resolver.expression(node.where, scope);
  const members = membersOf(scope);
  const grouping = new GroupResolution(resolver, node, scope);
  yield* grouping.bind();
  const terms = yield* termsInSteps(resolver, node.projection, grouping.scope, members);
  const order = yield* resolveOrder(resolver, orderBy, aliasScope(terms, grouping.scope));
  const rewritten = yield* grouping.finish(terms, order);
  const projection: LogicalProjection = {
    isDistinct: node.projection.isDistinct,
    isRaw: node.projection.isRaw,
    terms: rewritten.terms,
    exclude: node.projection.exclude,
    resultSlot: scope.block.allocate(),
  };
  const body: LogicalSubselect = {
    kind: 'subselect',
    block: scope.block,
    sources,
    from,
    let: bindings,
    where,
    group: rewritten.group,
    windows: rewritten.windows,
    projection,
    hints: node.hints,
  };
  return { body, order: rewritten.order };
}

function resolveLet(
  resolver: NameResolver,
  bindings: readonly Binding[],
  scope: Scope,
): WorkSteps<SlotBinding[]> {
  return mapInSteps(bindings, ({ name, expression, at }) => {
    const resolved = resolver.expression(expression, scope);
    refuseDuplicate(resolver.text, name, scope, at);
    const slot = scope.block.allocate();
    scope.bindLet(name, slotOf(slot, identifierOf(name, at)), scope.sourceOf(expression));
    return { name, slot, expression: resolved };
  });
}

/** The terms of a result. `members`: those of `*`. */
export function projectionTerms(
  resolver: NameResolver,
  projection: Projection,
  scope: Scope,
  members: readonly NamedExpression[],
): ProjectionTerm[] {
  return resultOf(termsInSteps(resolver, projection, scope, members));
}

function termsInSteps(
  resolver: NameResolver,
  projection: Projection,
  scope: Scope,
  members: readonly NamedExpression[],
): WorkSteps<ProjectionTerm[]> {
  const names = namesOf(projection);
  const seen = new Set<string>();
  return mapInSteps(projection.terms, (term, index): ProjectionTerm => {
    if (term.kind === 'star') {
      if (term.of) return { kind: 'star', of: resolver.expression(term.of, scope) };
      return { kind: 'all', members };
    }
    const alias = names[index] as string;
    if (seen.has(alias))
      throw sqlError(3100, `Duplicate result alias ${alias}${near(resolver.text, term.expression.at)}.`);
    seen.add(alias);
    const expression = resolver.expression(term.expression, scope);
    return { kind: 'term', alias, isExplicit: term.alias !== undefined, expression };
  });
}

/** The name of every term: its alias, the last name of its path, or `$1`, `$2`, …; empty for stars. */
function namesOf(projection: Projection): string[] {
  let unnamed = 0;
  return projection.terms.map((term) => {
    if (term.kind === 'star') return '';
    return term.alias ?? aliasOf(term.expression) ?? `$${++unnamed}`;
  });
}

/** In ORDER BY explicit aliases of results take precedence over all other names. */
function aliasScope(terms: readonly ProjectionTerm[], scope: Scope): Scope {
  const inner = scope.inner();
  for (const term of terms) {
    if (term.kind === 'term' && term.isExplicit) inner.bindVariable(term.alias, term.expression);
  }
  return inner;
}

function resolveOrder(
  resolver: NameResolver,
  terms: readonly SortTerm[],
  scope: Scope,
): WorkSteps<OrderTerm[]> {
  return mapInSteps(terms, ({ expression, direction, nulls }) => ({
    expression: resolver.expression(expression, scope),
    isDescending: typeof direction === 'object' ? direction : direction === 'desc',
    nulls,
  }));
}
