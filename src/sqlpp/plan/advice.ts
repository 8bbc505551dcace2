// Which keys an index should have to serve a statement: equalities first, then ranges, each keyspace for itself.
import type { Keyspace } from '../datastore/keyspace.ts';
import { formatExpression } from '../text/format.ts';
import type { Expression } from '../tree/query.ts';
import type { PlainStatement } from '../tree/statement.ts';
import type { Source } from './block.ts';
import { conjunctsOf, isStatic } from './conjuncts.ts';
import type { LogicalFrom, LogicalSelect } from './logical.ts';
import { type Directory, type QueryContext, Resolver } from './resolver.ts';
import { replace } from './walk.ts';

export interface Advice {
  readonly keyspace: Keyspace;
  readonly alias: string;
  readonly keys: readonly string[];
  readonly condition: string | undefined;
  readonly rule: string;
}

export function adviceFor(
  statement: PlainStatement,
  text: string,
  context: { readonly datastore: Directory; readonly queryContext?: QueryContext },
): Advice[] {
  if (statement.kind !== 'select') return [];
  const resolver = new Resolver(text, context.datastore, context.queryContext);
  const select = resolver.select(statement, undefined);
  return adviceOfSelect(select);
}

function adviceOfSelect({ body }: LogicalSelect): Advice[] {
  if (body.kind === 'set operation')
    return [...adviceOfSelect(body.left), ...(body.right ? adviceOfSelect(body.right) : [])];
  if (!body.from) return [];
  const conditions = conjunctsOf(body.where);
  return keyspacesOf(body.from, conditions);
}

function keyspacesOf(from: LogicalFrom, conditions: readonly Expression[]): Advice[] {
  switch (from.kind) {
    case 'keyspace': {
      const { keyspace } = from.keyspace;
      if (!keyspace || from.keys) return [];
      const advice = keysFor(from.source, conditions);
      return advice ? [{ keyspace, alias: from.source.alias, condition: undefined, ...advice }] : [];
    }
    case 'join':
    case 'nest': {
      const on = from.on.kind === 'on' ? conjunctsOf(from.on.condition) : [];
      const all = [...conditions, ...on];
      return [...keyspacesOf(from.left, conditions), ...keyspacesOf(from.right, all)];
    }
    case 'unnest':
      return keyspacesOf(from.left, conditions);
    default:
      return [];
  }
}

const rules = { equality: '1. Common leading key for disjunction', range: '4. Non-static join predicate' };

function keysFor(
  source: Source,
  conditions: readonly Expression[],
): { keys: string[]; rule: string } | undefined {
  const equal: string[] = [];
  const ranged: string[] = [];
  for (const condition of conditions) {
    const found = keyOf(condition, source);
    if (!found) continue;
    const list = found.isEquality ? equal : ranged;
    if (!equal.includes(found.text) && !ranged.includes(found.text)) list.push(found.text);
  }
  const keys = [...equal, ...ranged];
  if (keys.length === 0) return undefined;
  return {
    keys,
    rule:
      equal.length > 0
        ? 'Index keys follow order of predicate types: 2. equality/null/missing, 5. less than/between/greater than.'
        : `Index keys follow order of predicate types: ${rules.range.slice(3)}.`,
  };
}

function keyOf(condition: Expression, source: Source): { text: string; isEquality: boolean } | undefined {
  if (condition.kind === 'comparison') {
    for (const [side, other] of [
      [condition.left, condition.right],
      [condition.right, condition.left],
    ] as const) {
      if (isPath(side, source) && (isStatic(other) || !readsSource(other, source)))
        return { text: bare(side, source), isEquality: condition.operator === '=' };
    }
    return undefined;
  }
  if (
    condition.kind === 'between' ||
    condition.kind === 'like' ||
    condition.kind === 'membership' ||
    condition.kind === 'is'
  ) {
    if (!isPath(condition.of, source)) return undefined;
    return { text: bare(condition.of, source), isEquality: condition.kind === 'membership' };
  }
  return undefined;
}

function isPath(node: Expression, source: Source): boolean {
  return (
    node.kind === 'field' &&
    (isPath(node.of, source) || (node.of.kind === 'slot' && node.of.slot === source.slot))
  );
}

function readsSource(node: Expression, source: Source): boolean {
  let reads = false;
  replace(node, (part) => {
    if (part.kind === 'slot' && part.slot === source.slot) reads = true;
    return undefined;
  });
  return reads;
}

/** The path without the alias in front, as an index key has it. */
function bare(node: Expression, source: Source): string {
  const without = replace(node, (part) => {
    if (part.kind !== 'field' || part.of.kind !== 'slot' || part.of.slot !== source.slot) return undefined;
    const { name } = part;
    return name.kind === 'constant'
      ? { kind: 'identifier', name: String(name.value), ignoresCase: part.ignoresCase, at: part.at }
      : undefined;
  });
  return formatExpression(without);
}
