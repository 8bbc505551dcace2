// Plans as EXPLAIN shows them: with the published names of operators.

import type { Source } from '../plan/block.ts';
import type { ChangePlan } from '../plan/change-plans.ts';
import type { KeyspaceRef, LogicalProjection, OrderTerm } from '../plan/logical.ts';
import type { IndexScan, Operator, QueryPlan } from '../plan/operators.ts';
import type { PlanBound, PlanRange, PlanSpan } from '../plan/spans.ts';
import { formatExpression } from '../text/format.ts';
import type { Expression } from '../tree/query.ts';
import { newObject, setMember, type Value } from '../values/value.ts';

export function explainSelect(plan: QueryPlan, subqueries: readonly QueryPlan[]): Value {
  const root = explainQuery(plan);
  return subqueries.length === 0
    ? root
    : node('Sequence', {
        '~children': [root],
        '~subqueries': subqueries.map((each) => node('Subquery', { plan: explainQuery(each) })),
      });
}

function explainQuery({ root }: QueryPlan): Value {
  const after: Value[] = [];
  let top = root;
  const isAfter = (op: Operator['op']): boolean => op === 'order' || op === 'offset' || op === 'limit';
  // Rows are sorted before they are projected; the published plans show it the other way round.
  let projected: Value | undefined;
  if (top.op === 'project' && isAfter(top.input.op)) {
    projected = projectNode(top.projection);
    top = top.input;
  }
  while (top.op === 'order' || top.op === 'offset' || top.op === 'limit') {
    after.unshift(...ownSteps(top));
    top = top.input;
  }
  const steps = stepsOf(top);
  if (projected) steps.push(projected);
  const select = parallel(steps);
  return after.length > 0 ? node('Sequence', { '~children': [select, ...after] }) : select;
}

const scans = new Set([
  'PrimaryScan3',
  'IndexScan3',
  'DistinctScan',
  'UnionScan',
  'IntersectScan',
  'KeyScan',
  'CountScan',
  'PrimaryScan',
  'Fetch',
  'DummyScan',
  'ExpressionScan',
  'ValueScan',
  'With',
]);

/** Scans and reads of documents stand alone, what follows them in a `Parallel`. */
function parallel(steps: readonly Value[]): Value {
  const nameOf = (step: Value): string => String((step as Record<string, Value>)['#operator']);
  const first = steps.findIndex((step) => !scans.has(nameOf(step)));
  if (first < 0) return node('Sequence', { '~children': steps });
  const inner = node('Parallel', { '~child': node('Sequence', { '~children': steps.slice(first) }) });
  return node('Sequence', { '~children': [...steps.slice(0, first), inner] });
}

function node(operator: string, members: Readonly<Record<string, Value>> = {}): Value {
  const object = newObject();
  object['#operator'] = operator;
  for (const [name, value] of Object.entries(members)) setMember(object, name, value);
  return object;
}

function sequence(children: readonly Value[]): Value {
  return children.length === 1 && children[0] !== undefined
    ? node('Sequence', { '~children': children })
    : node('Sequence', { '~children': children });
}

function text(expression: Expression): string {
  return formatExpression(expression);
}

/** Steps of an operator and all before it, in the order in which rows go through. */
function stepsOf(operator: Operator): Value[] {
  switch (operator.op) {
    case 'start':
      return [node('DummyScan')];
    case 'nothing':
      return [node('DummyScan')];
    case 'key scan':
      return [node('KeyScan', { keys: text(operator.keys) })];
    case 'index scan':
      return [indexScan(operator)];
    case 'union scan':
      return [
        node(operator.isIntersect ? 'IntersectScan' : 'UnionScan', {
          scans: operator.scans.map((scan) => indexScan(scan)),
        }),
      ];
    case 'collection scan':
      return collectionScan(operator);
    case 'catalog scan':
      return [
        node('PrimaryScan', { index: '#primary', ...keyspace(operator.keyspace), using: 'system' }),
        fetchNode(operator.keyspace, operator.source),
      ];
    case 'count scan':
      return [node('CountScan', { ...keyspace(operator.keyspace), as: operator.source.alias })];
    case 'expression scan':
      return [node('ExpressionScan', { alias: operator.source.alias, expr: text(operator.expression) })];
    case 'subquery scan':
      return [explainQuery(operator.plan), node('Alias', { as: operator.source.alias })];
    case 'set operation':
      return [setOperation(operator)];
    default:
      return [...stepsOf(operator.input), ...ownSteps(operator)];
  }
}

function ownSteps(operator: Extract<Operator, { input: Operator }>): Value[] {
  switch (operator.op) {
    case 'fetch':
      return [fetchNode(operator.keyspace, operator.source)];
    case 'filter':
      return [node('Filter', { condition: text(operator.condition) })];
    case 'let':
      return [
        node('Let', {
          bindings: operator.bindings.map(({ name, expression }) =>
            members({ var: name, expr: text(expression) }),
          ),
        }),
      ];
    case 'join':
    case 'hash join':
      return [joinNode(operator)];
    case 'unnest':
      return [
        node('Unnest', {
          as: operator.source.alias,
          expr: text(operator.expression),
          outer: operator.isOuter || undefined,
        }),
      ];
    case 'group': {
      if (operator.input.op === 'count scan') return [];
      const { keys, aggregates } = operator.group;
      const parts = {
        aggregates: aggregates.map(({ node: aggregate }) => text(aggregate)),
        group_keys: keys.map(({ expression }) => text(expression)),
      };
      return ['InitialGroup', 'IntermediateGroup', 'FinalGroup'].map((name) => node(name, parts));
    }
    case 'window':
      return [node('WindowAggregate', { aggregates: operator.columns.map((column) => text(column.node)) })];
    case 'project':
      return [projectNode(operator.projection)];
    case 'distinct':
      return [node('Distinct')];
    case 'order':
      return [
        node('Order', {
          sort_terms: operator.terms.map(sortTerm),
          limit: operator.limit && text(operator.limit),
          offset: operator.offset && text(operator.offset),
        }),
      ];
    case 'offset':
      return [node('Offset', { expr: text(operator.offset) })];
    case 'limit':
      return [node('Limit', { expr: text(operator.limit) })];
    case 'with':
      return [
        node('With', {
          bindings: operator.terms.map(({ alias, expression }) =>
            members({ var: alias, expr: text(expression) }),
          ),
        }),
      ];
  }
}

function members(values: Readonly<Record<string, Value>>): Value {
  const object = newObject();
  for (const [name, value] of Object.entries(values)) setMember(object, name, value);
  return object;
}

function keyspace({ name }: KeyspaceRef): Record<string, Value> {
  if (name.namespace === 'system') return { keyspace: name.collection, namespace: '#system' };
  const isDefault = name.scope === '_default' && name.collection === '_default';
  if (isDefault) return { keyspace: name.bucket, namespace: 'default' };
  return { bucket: name.bucket, scope: name.scope, keyspace: name.collection, namespace: 'default' };
}

function asAlias(ref: KeyspaceRef, { alias, isExplicit }: Source): Record<string, Value> {
  return isExplicit ? { as: alias, ...keyspace(ref) } : keyspace(ref);
}

function fetchNode(ref: KeyspaceRef, source: Source): Value {
  return node('Fetch', asAlias(ref, source));
}

function indexScan(scan: IndexScan): Value {
  const keys = scan.index.keys.map((key) => key.expression);
  const positions = [...scan.covers.map((cover) => cover.position)].sort((a, b) => a - b);
  const projection = members({
    entry_keys: positions.length > 0 ? positions : undefined,
    primary_key: true,
  });
  const plain = node('IndexScan3', {
    index: scan.index.name,
    index_id: scan.index.id,
    using: 'gsi',
    ...asAlias(scan.keyspace, scan.source),
    index_projection: projection,
    spans: scan.spans.map((span) => spanNode(span, keys)),
    covers: scan.isCovering ? coverTexts(scan) : undefined,
    filter_covers: scan.constants.length > 0 ? filterCovers(scan) : undefined,
    limit: scan.limit && text(scan.limit),
    offset: scan.offset && text(scan.offset),
    reverse: scan.isReverse || undefined,
    index_order: scan.isOrdered ? [members({ keypos: 0, ...(scan.isReverse && { desc: true }) })] : undefined,
  });
  return scan.isDistinct ? node('DistinctScan', { scan: plain }) : plain;
}

function coverTexts(scan: IndexScan): string[] {
  const covers = scan.keyExpressions.map((expression) => `cover (${text(expression)})`);
  return [...covers, `cover ((meta(\`${scan.source.alias}\`).\`id\`))`];
}

/** What the condition of a partial index says of every entry. */
function filterCovers({ constants }: IndexScan): Value {
  return members(
    Object.fromEntries(
      constants.map(({ expression, constant }) => [`cover (${text(expression)})`, constant ?? null]),
    ),
  );
}

function collectionScan(scan: Extract<Operator, { op: 'collection scan' }>): Value[] {
  const ref = asAlias(scan.keyspace, scan.source);
  const source = node('PrimaryScan3', {
    index: scan.index?.name ?? '#sequentialscan',
    using: scan.index ? 'gsi' : 'sequentialscan',
    index_projection: members({ primary_key: true }),
    ...ref,
    limit: scan.limit && text(scan.limit),
    offset: scan.offset && text(scan.offset),
  });
  return scan.keysOnly ? [source] : [source, node('Fetch', ref)];
}

function spanNode(span: PlanSpan, keys: readonly string[]): Value {
  return members({
    exact: span.isExact || undefined,
    range: span.ranges.map((range, at) => rangeNode(range, keys[at])),
  });
}

function rangeNode(range: PlanRange, key: string | undefined): Value {
  const shared = { index_key: key };
  if (range.kind === 'each')
    return members({
      ...shared,
      low: `array_min(${text(range.list)})`,
      high: `array_max(${text(range.list)})`,
      inclusion: 3,
    });
  if (range.kind === 'like')
    return members({
      ...shared,
      low: `like_prefix(${text(range.pattern)})`,
      high: `like_stop(${text(range.pattern)})`,
      inclusion: 1,
    });
  const inclusion = (range.low?.inclusive ? 1 : 0) + (range.high?.inclusive ? 2 : 0);
  return members({ ...shared, low: boundText(range.low), high: boundText(range.high), inclusion });
}

function boundText(bound: PlanBound | undefined): Value {
  return bound && text(bound.value);
}

function joinNode(operator: Extract<Operator, { op: 'join' | 'hash join' }>): Value {
  const isNest = operator.nestSlot !== undefined;
  const name = isNest ? 'Nest' : 'Join';
  const shared = {
    alias: operator.source.alias,
    on_clause: operator.condition && text(operator.condition),
    outer: operator.isOuter || undefined,
    '~child': sequence(stepsOf(operator.right)),
  };
  if (operator.op === 'join') return node(operator.isLookup ? name : `NestedLoop${name}`, shared);
  return node(`Hash${name}`, {
    ...shared,
    build_exprs: operator.rightKeys.map(text),
    probe_exprs: operator.leftKeys.map(text),
  });
}

function projectNode({ isDistinct, isRaw, terms }: LogicalProjection): Value {
  const results = terms.map((term) => {
    if (term.kind === 'all') return members({ expr: 'self', star: true });
    if (term.kind === 'star') return members({ expr: text(term.of), star: true });
    return members({ expr: text(term.expression), as: term.isExplicit ? term.alias : undefined });
  });
  return node('InitialProject', {
    result_terms: results,
    distinct: isDistinct || undefined,
    raw: isRaw || undefined,
  });
}

function sortTerm({ expression, isDescending, nulls }: OrderTerm): Value {
  return members({
    expr: text(expression),
    desc: typeof isDescending === 'boolean' ? (isDescending ? '"desc"' : undefined) : text(isDescending),
    nulls_pos: typeof nulls === 'object' ? text(nulls) : nulls && `"nulls ${nulls}"`,
  });
}

function setOperation(operator: Extract<Operator, { op: 'set operation' }>): Value {
  const { left, right, isAll } = operator;
  if (!right) return explainQuery(left);
  const parts = [explainQuery(left), explainQuery(right)];
  if (operator.operator === 'union') {
    const all = node('UnionAll', { '~children': parts });
    return isAll ? all : node('Sequence', { '~children': [all, node('Distinct')] });
  }
  const name = `${operator.operator === 'intersect' ? 'Intersect' : 'Except'}All`;
  return node(name, { first: parts[0], second: parts[1], distinct: isAll ? undefined : true });
}

export function explainChange(plan: ChangePlan, subqueries: readonly QueryPlan[]): Value {
  const steps = changeSteps(plan);
  if (plan.returning) steps.push(projectNode(plan.returning));
  else steps.push(node('Discard'));
  const root = sequence(steps);
  return subqueries.length === 0
    ? root
    : node('Sequence', {
        '~children': [root],
        '~subqueries': subqueries.map((each) => node('Subquery', { plan: explainQuery(each) })),
      });
}

function changeSteps(plan: ChangePlan): Value[] {
  const ref = asAlias(plan.target, plan.source);
  switch (plan.kind) {
    case 'insert':
    case 'upsert': {
      const send = node(plan.kind === 'insert' ? 'SendInsert' : 'SendUpsert', ref);
      if (plan.rows.kind === 'query') return [explainQuery(plan.rows.query), send];
      const values = plan.rows.values.map(
        (row) => `[${text(row.key)}, ${row.value ? text(row.value) : 'null'}]`,
      );
      return [node('ValueScan', { values: `[${values.join(', ')}]` }), send];
    }
    case 'update': {
      const steps = [node('Clone')];
      if (plan.changes.set.length > 0)
        steps.push(
          node('Set', { set_terms: plan.changes.set.map((term) => members({ value: text(term.value) })) }),
        );
      if (plan.changes.unset.length > 0) steps.push(node('Unset'));
      return [...stepsOf(plan.root), ...steps, node('SendUpdate', ref)];
    }
    case 'delete':
      return [...stepsOf(plan.root), node('SendDelete', ref)];
    case 'merge':
      return [
        ...stepsOf(plan.root),
        node('Merge', {
          ...ref,
          key: plan.key && text(plan.key),
          update:
            plan.update &&
            node('Sequence', { '~children': [node('Clone'), node('Set'), node('SendUpdate', ref)] }),
          delete: plan.delete && node('Sequence', { '~children': [node('SendDelete', ref)] }),
          insert: plan.insert && node('Sequence', { '~children': [node('SendInsert', ref)] }),
        }),
      ];
  }
}
