// Resolves FROM: binds aliases to slots, term by term, and distinguishes keyspaces from expressions.
import { sqlError } from '../errors/sql-error.ts';
import { aliasOf } from '../tree/alias.ts';
import type { Expression } from '../tree/expression.ts';
import type {
  ExpressionTerm,
  FromTerm,
  Join,
  KeyspaceTerm,
  Nest,
  SimpleTerm,
  Unnest,
} from '../tree/query.ts';
import type { Source } from './block.ts';
import type { JoinOn, JoinSide, LogicalFrom, LogicalSelect } from './logical.ts';
import { type NameResolver, near } from './resolving.ts';
import type { Scope } from './scope.ts';

/** The clause that has a term, for messages. */
type Clause = 'FROM' | 'JOIN' | 'NEST';

export function resolveFrom(
  resolver: NameResolver,
  term: FromTerm,
  scope: Scope,
  sources: Source[],
): LogicalFrom {
  refuseMixedJoins(term);
  const from = fromTerm(resolver, term, scope, sources);
  const isSingle = term.kind !== 'join' && term.kind !== 'nest' && term.kind !== 'unnest';
  scope.defaultSource = isSingle ? sources[0] : undefined;
  return from;
}

/** Refuses joins by ON and joins by ON KEYS in one FROM. */
function refuseMixedJoins(term: FromTerm): void {
  const joins: (Join | Nest)[] = [];
  for (let node = term; node.kind === 'join' || node.kind === 'nest' || node.kind === 'unnest'; ) {
    if (node.kind !== 'unnest') joins.unshift(node);
    node = node.left;
  }
  const nameOf = (join: Join | Nest): [operation: string, alias: string] => [
    `${isAnsi(join) ? '' : 'non '}ANSI ${join.kind.toUpperCase()}`,
    aliasOfTerm(join.right),
  ];
  const [first] = joins;
  const other = first && joins.find((join) => isAnsi(join) !== isAnsi(first));
  if (other) throw sqlError(3200, ...nameOf(first as Join | Nest), ...nameOf(other));
}

/** Whether messages call the join an ANSI join: ON has a condition, or a comma joins the terms. */
function isAnsi({ on }: Join | Nest): boolean {
  return on.kind === 'on' || on.kind === 'none';
}

function aliasOfTerm(term: SimpleTerm): string {
  return term.alias ?? (term.kind === 'keyspace' ? term.path.parts.at(-1) : undefined) ?? '';
}

/** Refuses a join hint at the first term, which has nothing to join with. */
export function refuseFirstHint(term: FromTerm): void {
  let first = term;
  while (first.kind === 'join' || first.kind === 'nest' || first.kind === 'unnest') first = first.left;
  if (first.use.join) throw sqlError(3290, aliasOfTerm(first));
}

/** Refuses a subquery on the right side that reads the left side, unless LATERAL, or a comma, joins it. */
function refuseCorrelated(term: Join | Nest, right: JoinSide, left: readonly Source[]): void {
  if (right.kind !== 'subquery' || (term.kind === 'join' && term.isLateral) || term.on.kind === 'none')
    return;
  const slots = new Set(left.flatMap((source) => [source.slot, source.idSlot, source.metaSlot]));
  for (const { outer } of right.select.block.captures) {
    if (outer.kind === 'slot' && slots.has(outer.slot))
      throw sqlError(3100, `FROM clause subquery term (${right.source.alias}) cannot be correlated.`);
  }
}

function fromTerm(resolver: NameResolver, term: FromTerm, scope: Scope, sources: Source[]): LogicalFrom {
  switch (term.kind) {
    case 'join':
    case 'nest':
      return joinTerm(resolver, term, scope, sources);
    case 'unnest':
      return unnestTerm(resolver, term, scope, sources);
    default:
      return simpleTerm(resolver, term, scope, sources, 'FROM');
  }
}

function joinTerm(resolver: NameResolver, term: Join | Nest, scope: Scope, sources: Source[]): LogicalFrom {
  const clause = term.kind === 'join' ? 'JOIN' : 'NEST';
  const left = fromTerm(resolver, term.left, scope, sources);
  scope.defaultSource = undefined;
  checkJoin(term, clause);
  const keys = leftKeys(resolver, term, scope);
  const before = [...sources];
  const right = simpleTerm(resolver, term.right, scope, sources, clause);
  refuseCorrelated(term, right, before);
  const on = keys ?? joinOn(resolver, term, scope, right, clause);
  return term.kind === 'join'
    ? { kind: 'join', join: term.join, left, right, on, isLateral: term.isLateral }
    : { kind: 'nest', join: term.join, left, right, on, source: right.source };
}

/** The keys of `ON KEYS`, resolved before the right side has names: they may reference the left side only. */
function leftKeys(resolver: NameResolver, term: Join | Nest, scope: Scope): JoinOn | undefined {
  if (term.on.kind !== 'on keys') return undefined;
  return { kind: 'keys', keys: resolver.expression(term.on.keys, scope) };
}

function joinOn(
  resolver: NameResolver,
  term: Join | Nest,
  scope: Scope,
  right: JoinSide,
  clause: Clause,
): JoinOn {
  const { on } = term;
  if (on.kind === 'on') return { kind: 'on', condition: resolver.expression(on.condition, scope) };
  if (on.kind !== 'on key') return { kind: 'on', condition: undefined };
  const outer = scope.names.get(on.for);
  if (outer?.kind !== 'source' || outer.source === right.source) throw sqlError(4025, clause, on.for);
  return { kind: 'key for', key: resolver.expression(on.key, scope), outer: outer.source };
}

/** @throws SqlError 3110, 3120, 3130 for hints at the right side of ON KEYS or ON KEY, which reads documents by key */
function checkJoin(term: Join | Nest, clause: Clause): void {
  const { right, on } = term;
  const alias = aliasOfTerm(right);
  if (on.kind === 'on keys' || on.kind === 'on key') {
    if (right.use.join) throw sqlError(3110, clause, alias);
    if (right.use.keys) throw sqlError(3120, clause, alias);
    if (right.use.indexes.length > 0) throw sqlError(3130, clause, alias);
  }
}

function unnestTerm(resolver: NameResolver, term: Unnest, scope: Scope, sources: Source[]): LogicalFrom {
  const left = fromTerm(resolver, term.left, scope, sources);
  scope.defaultSource = sources.length === 1 ? sources[0] : undefined;
  const expression = resolver.expression(term.expression, scope);
  const alias = term.alias ?? aliasOf(term.expression);
  if (alias === undefined) throw sqlError(4010, 'UNNEST');
  if (scope.find(alias)) throw sqlError(4020, 'UNNEST', alias + near(resolver.text, term.at));
  scope.defaultSource = undefined;
  const source = addSource(scope, sources, alias, term.alias !== undefined, 'unnest');
  return { kind: 'unnest', join: term.join, left, expression, source };
}

function simpleTerm(
  resolver: NameResolver,
  term: SimpleTerm,
  scope: Scope,
  sources: Source[],
  clause: Clause,
): JoinSide {
  if (term.kind === 'subquery term') {
    if (scope.find(term.alias)) throw sqlError(4020, 'subquery', term.alias);
    const select = resolver.select(term.select, scope);
    const origin = originOf(select);
    const source = addSource(scope, sources, term.alias, true, 'subquery', origin !== undefined);
    return { kind: 'subquery', source, select, use: term.use, origin };
  }
  if (term.kind === 'expression') return expressionTerm(resolver, term, scope, sources);
  if (term.expression && scope.isAlias(term.path.parts[0] as string)) {
    const { expression, alias, use, at } = term;
    return expressionTerm(resolver, { kind: 'expression', expression, alias, use, at }, scope, sources);
  }
  return keyspaceTerm(resolver, term, scope, sources, clause);
}

/** The source whose META() the rows of a subquery have: its first one, unless the rows are groups. */
function originOf({ body }: LogicalSelect): Source | undefined {
  if (body.kind !== 'subselect' || body.group) return undefined;
  const [first] = body.sources;
  return first?.metaSlot === undefined ? undefined : first;
}

function expressionTerm(
  resolver: NameResolver,
  term: ExpressionTerm,
  scope: Scope,
  sources: Source[],
): JoinSide {
  const context = near(resolver.text, term.at);
  if (term.use.keys) {
    const path = resolver.namedPath(term.expression);
    const { alias, use, at } = term;
    if (path)
      return keyspaceTerm(
        resolver,
        { kind: 'keyspace', path, expression: undefined, alias, use, at },
        scope,
        sources,
        'FROM',
      );
  }
  const alias = term.alias ?? aliasOf(term.expression);
  if (alias === undefined) throw sqlError(4010, `FROM expression${context}`);
  const withTerm = withTermOf(term, scope);
  if (hidesAlias(scope, alias, withTerm !== undefined))
    throw sqlError(4020, `FROM expression${context}`, alias);
  if (term.use.keys || term.use.indexes.length > 0) throw sqlError(4110, 'FROM expression');
  const expression = withTerm ?? resolver.expression(term.expression, scope);
  const source = addSource(scope, sources, alias, term.alias !== undefined, 'expression');
  return { kind: 'expression', source, expression, use: term.use };
}

/** Whether a FROM term must not have the alias: terms of WITH may, and their names are those of `FROM name` in each subquery. */
function hidesAlias(scope: Scope, alias: string, isWithTerm: boolean): boolean {
  const found = scope.find(alias);
  if (!found || (found.binding.kind === 'variable' && found.binding.isWith)) return false;
  return !(isWithTerm && found.scope.block !== scope.block);
}

function withTermOf({ expression }: ExpressionTerm, scope: Scope): Expression | undefined {
  return expression.kind === 'identifier' ? scope.withTerm(expression.name, expression.at) : undefined;
}

function keyspaceTerm(
  resolver: NameResolver,
  term: KeyspaceTerm,
  scope: Scope,
  sources: Source[],
  clause: Clause,
): JoinSide {
  const alias = term.alias ?? term.path.parts.at(-1);
  if (alias === undefined) throw sqlError(4010, clause);
  if (scope.find(alias)) throw sqlError(4020, clause === 'FROM' ? 'subquery' : clause, alias);
  const keyspace = resolver.keyspace(term.path);
  const keys = term.use.keys && resolver.expression(term.use.keys, scope);
  const source = addSource(scope, sources, alias, term.alias !== undefined, 'keyspace');
  return { kind: 'keyspace', source, keyspace, keys, use: term.use };
}

/** Adds a FROM term to `sources` and binds its alias. */
export function addSource(
  scope: Scope,
  sources: Source[],
  alias: string,
  isExplicit: boolean,
  kind: Source['kind'],
  hasMeta = kind === 'keyspace',
): Source {
  const { block } = scope;
  const source: Source = {
    alias,
    isExplicit,
    kind,
    slot: block.allocate(),
    idSlot: hasMeta ? block.allocate() : undefined,
    metaSlot: hasMeta ? block.allocate() : undefined,
    positionSlot: kind === 'unnest' ? block.allocate() : undefined,
    xattrs: new Set(),
    usesMeta: false,
    usesExpiration: false,
  };
  sources.push(source);
  scope.bindSource(source);
  return source;
}
