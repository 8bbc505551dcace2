// Resolves and plans INSERT, UPSERT, UPDATE, DELETE.
import { sqlError } from '../errors/sql-error.ts';
import { formatExpression } from '../text/format.ts';
import type { Delete, Insert, SetTerm, Target, UnsetTerm, Update, UpdateFor } from '../tree/change.ts';
import type { Expression } from '../tree/expression.ts';
import { identifierOf } from '../tree/identifier.ts';
import type { IndexRef, Projection } from '../tree/query.ts';
import { accessTo } from './access.ts';
import type { Access } from './access-state.ts';
import { Block, type Source } from './block.ts';
import { bindSlots, filterEarly, filtered, planSelect } from './build.ts';
import type {
  DeletePlan,
  DocumentChanges,
  ForPlan,
  InsertPlan,
  InsertValues,
  PathPlan,
  PathStep,
  SetPlan,
  UnsetPlan,
  UpdatePlan,
} from './change-plans.ts';
import { conjunctsOf } from './conjuncts.ts';
import { withMetadata } from './inserted-metadata.ts';
import type { KeyspaceFrom, KeyspaceRef, LogicalProjection } from './logical.ts';
import type { Operator } from './operators.ts';
import type { PlanningContext } from './planning.ts';
import { membersOf } from './resolve-expression.ts';
import { addSource } from './resolve-from.ts';
import { projectionTerms } from './resolve-select.ts';
import { type NameResolver, near } from './resolving.ts';
import { Scope, slotOf } from './scope.ts';
import { nestableBounds } from './spans.ts';
import { usesOfExpressions } from './uses.ts';

export function planInsert(resolver: NameResolver, planning: PlanningContext, node: Insert): InsertPlan {
  const { target, scope, source } = targetOf(resolver, node.into, node.kind);
  const { block } = scope;
  // VALUES and the SELECT do not see the inserted document, as RETURNING does.
  const outside = new Scope(block, undefined);
  const values = ({ key, value, options }: InsertValues, within: Scope): InsertValues => ({
    key: resolver.expression(key, within),
    value: value && resolver.expression(value, within),
    options: options && resolver.expression(options, within),
  });
  const rows = (): InsertPlan['rows'] => {
    if (node.source.kind === 'values')
      return { kind: 'values', values: node.source.rows.map((row) => values(row, outside)) };
    const selected = withMetadata(node.source);
    const query = planSelect(planning, resolver.select(selected.select, outside));
    const inner = outside.inner();
    // No field of a row is expected to have this name, which begins with a space.
    const row = addSource(inner, [], ' row', false, 'subquery');
    inner.defaultSource = row;
    return { kind: 'query', query, rowSlot: row.slot, values: values(selected, inner) };
  };
  return {
    kind: node.kind,
    block,
    target,
    source,
    rows: rows(),
    returning: node.returning && returningOf(resolver, node.returning, scope),
    covered: new Map(),
    writesAtEnd: resolver.reads(target.name),
  };
}

/** The keyspace that a statement changes, with its source in the scope of the statement. */
interface ResolvedTarget {
  readonly target: KeyspaceRef;
  readonly scope: Scope;
  readonly source: Source;
}

export function targetOf(
  resolver: NameResolver,
  target: Target,
  kind: 'insert' | 'upsert' | 'delete' | 'update',
): ResolvedTarget {
  const path = 'parts' in target.path ? target.path : resolver.namedPath(target.path);
  if (!path) throw sqlError(3100, 'A keyspace to write must be named in the statement.');
  const scope = new Scope(new Block(), undefined);
  const keyspace = resolver.keyspace(path, kind === 'upsert' ? 'insert' : kind);
  if (kind === 'upsert') resolver.keyspace(path, 'update');
  const alias = target.alias ?? (path.parts.at(-1) as string);
  const source = addSource(scope, [], alias, target.alias !== undefined, 'keyspace');
  source.usesMeta = true;
  scope.defaultSource = source;
  return { target: keyspace, scope, source };
}

export function returningOf(resolver: NameResolver, projection: Projection, scope: Scope): LogicalProjection {
  return {
    isDistinct: projection.isDistinct,
    isRaw: projection.isRaw,
    terms: projectionTerms(resolver, projection, scope, membersOf(scope)),
    exclude: projection.exclude,
    resultSlot: scope.block.allocate(),
  };
}

export function planDelete(resolver: NameResolver, planning: PlanningContext, node: Delete): DeletePlan {
  const resolved = targetOf(resolver, node.from, 'delete');
  const { scope, source, target } = resolved;
  const returning = node.returning && returningOf(resolver, node.returning, scope);
  let root = selectionPlan(resolver, planning, resolved, node);
  if (node.offset) root = { op: 'offset', input: root, offset: resolver.expression(node.offset, scope) };
  if (node.limit) root = { op: 'limit', input: root, limit: resolver.expression(node.limit, scope) };
  return {
    kind: 'delete',
    block: scope.block,
    target,
    source,
    root,
    returning,
    covered: new Map(),
    writesAtEnd: resolver.reads(target.name),
  };
}

export function planUpdate(resolver: NameResolver, planning: PlanningContext, node: Update): UpdatePlan {
  const resolved = targetOf(resolver, node.target, 'update');
  const { scope, source, target } = resolved;
  const changes = changesOf(resolver, node.set, node.unset, scope, source);
  const returning = node.returning && returningOf(resolver, node.returning, scope);
  const root = selectionPlan(resolver, planning, resolved, node);
  const limited: Operator = node.limit
    ? { op: 'limit', input: root, limit: resolver.expression(node.limit, scope) }
    : root;
  return {
    kind: 'update',
    block: scope.block,
    target,
    source,
    root: limited,
    changes,
    returning,
    covered: new Map(),
    writesAtEnd: resolver.reads(target.name),
  };
}

/** Reads the documents that WHERE and USE KEYS select. */
function selectionPlan(
  resolver: NameResolver,
  planning: PlanningContext,
  { scope, source, target }: ResolvedTarget,
  node: {
    readonly keys: Expression | undefined;
    readonly indexes: readonly IndexRef[];
    readonly where: Expression | undefined;
  },
): Operator {
  const where = node.where && resolver.expression(node.where, scope);
  const keys = node.keys && resolver.expression(node.keys, new Scope(scope.block, undefined));
  const use = { keys: undefined, indexes: node.indexes, join: undefined };
  const from: KeyspaceFrom = { kind: 'keyspace', source, keyspace: target, keys, use };
  const access = changeAccess(planning, scope.block, where ? [where] : []);
  const pending = conjunctsOf(where);
  const available = new Set<number>();
  const scan = accessTo(access, from, pending, available, 'mutation');
  bindSlots(source, available);
  return filtered(filterEarly(scan, pending, available), pending);
}

/** The state of planning the scan of a statement that changes documents: no clause is pushed down to the scan, and no index covers it. */
export function changeAccess(
  planning: PlanningContext,
  block: Block,
  expressions: readonly Expression[],
): Access {
  return {
    planning,
    block,
    uses: usesOfExpressions(expressions),
    seeds: new Set(block.captures.map((capture) => capture.slot)),
    select: undefined,
    body: undefined,
    hints: undefined,
    isOrdered: false,
    isLimited: false,
    nestableBounds: nestableBounds([]),
    covered: new Map(),
    optional: new Set(),
  };
}

export function changesOf(
  resolver: NameResolver,
  set: readonly SetTerm[],
  unset: readonly UnsetTerm[],
  scope: Scope,
  source: Source,
): DocumentChanges {
  return {
    set: set.map((term): SetPlan => {
      const inner = bindFor(resolver, term.for, scope);
      const value = resolver.expression(term.value, inner.scope);
      return { ...pathTerm(resolver, term, inner, source), value };
    }),
    unset: unset.map((term) => pathTerm(resolver, term, bindFor(resolver, term.for, scope), source)),
  };
}

interface BoundFor {
  readonly scope: Scope;
  readonly for: ForPlan | undefined;
}

/** Binds the variables of FOR to slots. An assignment to a variable, or a path in it, changes the value in the document that the variable stands for. */
function bindFor(resolver: NameResolver, node: UpdateFor | undefined, scope: Scope): BoundFor {
  if (!node) return { scope, for: undefined };
  let inner = scope;
  const dimensions = node.dimensions.map((bindings) => {
    const outer = inner;
    inner = outer.inner();
    return bindings.map(({ name, position, of, isDeep }) => {
      const expression = resolver.expression(of, outer);
      const slot = scope.block.allocate();
      const positionSlot = position === undefined ? undefined : scope.block.allocate();
      inner.bindVariable(name, slotOf(slot, identifierOf(name)));
      if (position !== undefined)
        inner.bindVariable(position, slotOf(positionSlot as number, identifierOf(position)));
      return { slot, positionSlot, of: expression, isDeep };
    });
  });
  const when = node.when && resolver.expression(node.when, inner);
  return { scope: inner, for: { dimensions, when } };
}

function pathTerm(resolver: NameResolver, term: UnsetTerm, bound: BoundFor, source: Source): UnsetPlan {
  if (term.meta) {
    return {
      path: { rootSlot: source.metaSlot as number, steps: metaSteps(resolver, term, bound.scope, source) },
      isMeta: true,
      for: bound.for,
    };
  }
  return { path: pathOf(resolver.expression(term.path, bound.scope)), isMeta: false, for: bound.for };
}

/** Whether the value cannot be MISSING: assigning MISSING to a field or an attribute removes it. */
const isPresent = (value: Expression): boolean =>
  ['object', 'array', 'named parameter', 'positional parameter'].includes(value.kind) ||
  (value.kind === 'constant' && value.value !== undefined);

/** A statement may set two parts of the metadata: `expiration`, and single attributes (`xattrs.name`). */
function metaSteps(resolver: NameResolver, term: UnsetTerm, scope: Scope, source: Source): PathStep[] {
  const steps = namesOf(resolver, term.path, scope);
  const [first, attribute] = steps.map((step) =>
    step.kind === 'name' && step.name.kind === 'constant' ? step.name.value : undefined,
  );
  const isSet = 'value' in term;
  const cannotRemove = isSet && isPresent(term.value as Expression);
  if (first === 'expiration' && steps.length === 1 && isSet) return steps;
  if (first === 'xattrs' && steps.length === 2 && typeof attribute === 'string') {
    // The scan reads an attribute that the statement may remove, since removing one that the document does not have would fail.
    if (!cannotRemove) source.xattrs.add(attribute);
    return steps;
  }
  const clause = isSet ? 'SET' : 'UNSET';
  const path = `${formatExpression(term.path)}${near(resolver.text, term.path.at)}`;
  throw sqlError(
    3000,
    `${clause} clause has invalid path ${path}: of META() it can change only ${isSet ? 'expiration and xattrs.name' : 'xattrs.name'}`,
  );
}

/** `META(d).a.b`: a path of plain names. */
function namesOf(resolver: NameResolver, path: Expression, scope: Scope): PathStep[] {
  if (path.kind === 'identifier')
    return [{ kind: 'name', name: { kind: 'constant', value: path.name, at: path.at } }];
  if (path.kind !== 'field')
    throw sqlError(3000, 'META() can be set by names only, as in META(d).expiration');
  return [
    ...namesOf(resolver, path.of, scope),
    { kind: 'name', name: resolver.expression(path.name, scope) },
  ];
}

function pathOf(path: Expression): PathPlan {
  const steps: PathStep[] = [];
  let node = path;
  for (;;) {
    if (node.kind === 'field') {
      steps.unshift({ kind: 'name', name: node.name });
      node = node.of;
    } else if (node.kind === 'element') {
      steps.unshift({ kind: 'index', index: node.index });
      node = node.of;
    } else if (node.kind === 'slot') return { rootSlot: node.slot, steps };
    else throw sqlError(3000, 'SET and UNSET take a path of names and positions, as in a.b[0]');
  }
}
