// EXPLAIN's output for plans, with the published names of operators.
import type { Source } from '../plan/block.ts';
import type { ChangePlan } from '../plan/change-plans.ts';
import type { KeyspaceRef, LogicalProjection, OrderTerm } from '../plan/logical.ts';
import type { IndexScan, Operator, QueryPlan } from '../plan/operators.ts';
import { formatExpression } from '../text/format.ts';
import type { Value } from '../values/value.ts';
import { estimates, members, node, spanNode } from './explained-nodes.ts';
import { nodesWithStats } from './explained-stats.ts';
import type { OperatorStats } from './meter.ts';

/** The measured time and rows of an operator; undefined: nothing was measured. */
export type StatsOf = (operator: object) => OperatorStats | undefined;

const noStats: StatsOf = () => undefined;

export function explainSelect(
  plan: QueryPlan,
  subqueries: readonly QueryPlan[],
  statsOf: StatsOf = noStats,
): Value {
  return withSubqueries(explainQuery(plan, statsOf), subqueries, statsOf);
}

function withSubqueries(root: Value, subqueries: readonly QueryPlan[], statsOf: StatsOf): Value {
  if (subqueries.length === 0) return root;
  const plans = subqueries.map((each) => node('Subquery', { plan: explainQuery(each, statsOf) }));
  return node('Sequence', { '~children': [root], '~subqueries': plans });
}

function explainQuery({ root }: QueryPlan, statsOf: StatsOf): Value {
  const after: Value[] = [];
  let top = root;
  const isAfter = (op: Operator['op']): boolean => op === 'order' || op === 'offset' || op === 'limit';
  // The engine sorts before it projects; published plans show the reverse order.
  let projected: Value | undefined;
  if (top.op === 'project' && isAfter(top.input.op)) {
    [projected] = nodesWithStats([projectNode(top.projection)], statsOf(top));
    top = top.input;
  }
  while (top.op === 'order' || top.op === 'offset' || top.op === 'limit') {
    after.unshift(...nodesWithStats(ownSteps(top, statsOf), statsOf(top)));
    top = top.input;
  }
  const steps = stepsOf(top, statsOf);
  if (projected) steps.push(projected);
  const select = parallel(steps);
  return after.length > 0 ? node('Sequence', { '~children': [select, ...after] }) : select;
}

/** The nodes that published plans have before `Parallel`. */
const scans = new Set([
  'PrimaryScan3',
  'IndexScan3',
  'DistinctScan',
  'UnionScan',
  'KeyScan',
  'CountScan',
  'PrimaryScan',
  'Fetch',
  'DummyScan',
  'ExpressionScan',
  'ValueScan',
  'With',
]);

/** Wraps the operators after scans and fetches in a `Parallel`. */
function parallel(steps: readonly Value[]): Value {
  const nameOf = (step: Value): string => String((step as Record<string, Value>)['#operator']);
  const first = steps.findIndex((step) => !scans.has(nameOf(step)));
  if (first < 0) return node('Sequence', { '~children': steps });
  const inner = node('Parallel', { '~child': node('Sequence', { '~children': steps.slice(first) }) });
  return node('Sequence', { '~children': [...steps.slice(0, first), inner] });
}

function sequence(children: readonly Value[]): Value {
  return node('Sequence', { '~children': children });
}

/** The nodes of an operator and its inputs, in the order of processing. */
function stepsOf(operator: Operator, statsOf: StatsOf): Value[] {
  if ('input' in operator)
    return [
      ...stepsOf(operator.input, statsOf),
      ...nodesWithStats(ownSteps(operator, statsOf), statsOf(operator)),
    ];
  return nodesWithStats(sourceSteps(operator, statsOf), statsOf(operator));
}

function sourceSteps(operator: Exclude<Operator, { input: Operator }>, statsOf: StatsOf): Value[] {
  switch (operator.op) {
    case 'start':
      return [node('DummyScan')];
    case 'key scan':
      return [node('KeyScan', { keys: formatExpression(operator.keys) })];
    case 'index scan':
      return [indexScan(operator)];
    case 'union scan':
      return [node('UnionScan', { scans: operator.scans.map((scan) => indexScan(scan)) })];
    case 'collection scan':
      return collectionScan(operator);
    case 'catalog scan':
      return [
        operator.keys
          ? node('KeyScan', { keys: formatExpression(operator.keys) })
          : node('PrimaryScan', { index: '#primary', ...keyspace(operator.keyspace), using: 'system' }),
        fetchNode(operator.keyspace, operator.source),
      ];
    case 'count scan':
      return [node('CountScan', { ...keyspace(operator.keyspace), as: operator.source.alias })];
    case 'expression scan':
      return [
        node('ExpressionScan', { alias: operator.source.alias, expr: formatExpression(operator.expression) }),
      ];
    case 'subquery scan':
      return [explainQuery(operator.plan, statsOf), node('Alias', { as: operator.source.alias })];
    case 'set operation':
      return [setOperation(operator, statsOf)];
  }
}

function ownSteps(operator: Extract<Operator, { input: Operator }>, statsOf: StatsOf): Value[] {
  switch (operator.op) {
    case 'fetch':
      return [fetchNode(operator.keyspace, operator.source, fetchEstimates(operator.input))];
    case 'filter':
      return [node('Filter', { condition: formatExpression(operator.condition) })];
    case 'let':
      return [
        node('Let', {
          bindings: operator.bindings.map(({ name, expression }) =>
            members({ var: name, expr: formatExpression(expression) }),
          ),
        }),
      ];
    case 'join':
    case 'hash join':
      return [joinNode(operator, statsOf)];
    case 'unnest':
      return [
        node('Unnest', {
          as: operator.source.alias,
          expr: formatExpression(operator.expression),
          outer: operator.isOuter || undefined,
        }),
      ];
    case 'group': {
      if (operator.input.op === 'count scan') return [];
      const { keys, aggregates } = operator.group;
      const parts = {
        aggregates: aggregates.map(({ node: aggregate }) => formatExpression(aggregate)),
        group_keys: keys.map(({ expression }) => formatExpression(expression)),
      };
      return ['InitialGroup', 'IntermediateGroup', 'FinalGroup'].map((name) => node(name, parts));
    }
    case 'window':
      return [
        node('WindowAggregate', {
          aggregates: operator.columns.map((column) => formatExpression(column.node)),
        }),
      ];
    case 'project':
      return [projectNode(operator.projection)];
    case 'distinct':
      return [node('Distinct')];
    case 'order':
      return [
        node('Order', {
          sort_terms: operator.terms.map(sortTerm),
          limit: operator.limit && formatExpression(operator.limit),
          offset: operator.offset && formatExpression(operator.offset),
        }),
      ];
    case 'offset':
      return operator.unlessNested ? [] : [node('Offset', { expr: formatExpression(operator.offset) })];
    case 'limit':
      return operator.unlessNested ? [] : [node('Limit', { expr: formatExpression(operator.limit) })];
    case 'with':
      return [
        node('With', {
          bindings: operator.terms.map(({ alias, expression }) =>
            members({ var: alias, expr: formatExpression(expression) }),
          ),
        }),
      ];
  }
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

function fetchNode(ref: KeyspaceRef, source: Source, estimates: Record<string, Value> = {}): Value {
  return node('Fetch', { ...asAlias(ref, source), ...estimates });
}

/** Estimates for reading the documents of a scan that has an estimate. */
function fetchEstimates(input: Operator): Record<string, Value> {
  const estimate = input.op === 'index scan' ? input.estimate : undefined;
  return estimate ? estimates(estimate.cardinality, estimate.cost) : {};
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
    limit: scan.limit && formatExpression(scan.limit),
    offset: scan.offset && formatExpression(scan.offset),
    reverse: scan.isReverse || undefined,
    index_order: scan.isOrdered ? [members({ keypos: 0, ...(scan.isReverse && { desc: true }) })] : undefined,
    ...(scan.estimate && estimates(scan.estimate.cardinality, scan.estimate.scanCost)),
  });
  return scan.isDistinct ? node('DistinctScan', { scan: plain }) : plain;
}

function coverTexts(scan: IndexScan): string[] {
  const covers = scan.keyExpressions.map((expression) => `cover (${formatExpression(expression)})`);
  return [...covers, `cover ((meta(\`${scan.source.alias}\`).\`id\`))`];
}

/** The values that the condition of a partial index gives all entries. */
function filterCovers({ constants }: IndexScan): Value {
  return members(
    Object.fromEntries(
      constants.map(({ expression, constant }) => [
        `cover (${formatExpression(expression)})`,
        constant ?? null,
      ]),
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
    limit: scan.limit && formatExpression(scan.limit),
    offset: scan.offset && formatExpression(scan.offset),
  });
  return scan.keysOnly ? [source] : [source, node('Fetch', ref)];
}

function joinNode(operator: Extract<Operator, { op: 'join' | 'hash join' }>, statsOf: StatsOf): Value {
  const isNest = operator.nestSlot !== undefined;
  const name = isNest ? 'Nest' : 'Join';
  const shared = {
    alias: operator.source.alias,
    on_clause: operator.condition && formatExpression(operator.condition),
    outer: operator.isOuter || undefined,
    '~child': sequence(stepsOf(operator.right, statsOf)),
  };
  if (operator.op === 'join') return node(operator.isLookup ? name : `NestedLoop${name}`, shared);
  return node(`Hash${name}`, {
    ...shared,
    build_exprs: operator.rightKeys.map((key) => formatExpression(key)),
    probe_exprs: operator.leftKeys.map((key) => formatExpression(key)),
  });
}

function projectNode({ isDistinct, isRaw, terms }: LogicalProjection): Value {
  const results = terms.map((term) => {
    if (term.kind === 'all') return members({ expr: 'self', star: true });
    if (term.kind === 'star') return members({ expr: formatExpression(term.of), star: true });
    return members({ expr: formatExpression(term.expression), as: term.isExplicit ? term.alias : undefined });
  });
  return node('InitialProject', {
    result_terms: results,
    distinct: isDistinct || undefined,
    raw: isRaw || undefined,
  });
}

function sortTerm({ expression, isDescending, nulls }: OrderTerm): Value {
  return members({
    expr: formatExpression(expression),
    desc:
      typeof isDescending === 'boolean'
        ? isDescending
          ? '"desc"'
          : undefined
        : formatExpression(isDescending),
    nulls_pos: typeof nulls === 'object' ? formatExpression(nulls) : nulls && `"nulls ${nulls}"`,
  });
}

function setOperation(operator: Extract<Operator, { op: 'set operation' }>, statsOf: StatsOf): Value {
  const { left, right, isAll } = operator;
  if (!right) return explainQuery(left, statsOf);
  const parts = [explainQuery(left, statsOf), explainQuery(right, statsOf)];
  if (operator.operator === 'union') {
    const all = node('UnionAll', { '~children': parts });
    return isAll ? all : node('Sequence', { '~children': [all, node('Distinct')] });
  }
  const name = `${operator.operator === 'intersect' ? 'Intersect' : 'Except'}All`;
  return node(name, { first: parts[0], second: parts[1], distinct: isAll ? undefined : true });
}

export function explainChange(
  plan: ChangePlan,
  subqueries: readonly QueryPlan[],
  statsOf: StatsOf = noStats,
): Value {
  const steps = changeSteps(plan, statsOf);
  const last = steps.pop() as Value;
  steps.push(...nodesWithStats([last], statsOf(plan)));
  steps.push(plan.returning ? projectNode(plan.returning) : node('Discard'));
  return withSubqueries(sequence(steps), subqueries, statsOf);
}

function changeSteps(plan: ChangePlan, statsOf: StatsOf): Value[] {
  const ref = asAlias(plan.target, plan.source);
  switch (plan.kind) {
    case 'insert':
    case 'upsert': {
      const send = node(plan.kind === 'insert' ? 'SendInsert' : 'SendUpsert', ref);
      if (plan.rows.kind === 'query') return [explainQuery(plan.rows.query, statsOf), send];
      const values = plan.rows.values.map(
        (row) => `[${formatExpression(row.key)}, ${row.value ? formatExpression(row.value) : 'null'}]`,
      );
      return [node('ValueScan', { values: `[${values.join(', ')}]` }), send];
    }
    case 'update': {
      const steps = [node('Clone')];
      if (plan.changes.set.length > 0)
        steps.push(
          node('Set', {
            set_terms: plan.changes.set.map((term) => members({ value: formatExpression(term.value) })),
          }),
        );
      if (plan.changes.unset.length > 0) steps.push(node('Unset'));
      return [...stepsOf(plan.root, statsOf), ...steps, node('SendUpdate', ref)];
    }
    case 'delete':
      return [...stepsOf(plan.root, statsOf), node('SendDelete', ref)];
    case 'merge':
      return [
        ...stepsOf(plan.root, statsOf),
        node('Merge', {
          ...ref,
          key: plan.key && formatExpression(plan.key),
          update:
            plan.update &&
            node('Sequence', { '~children': [node('Clone'), node('Set'), node('SendUpdate', ref)] }),
          delete: plan.delete && node('Sequence', { '~children': [node('SendDelete', ref)] }),
          insert: plan.insert && node('Sequence', { '~children': [node('SendInsert', ref)] }),
        }),
      ];
  }
}
