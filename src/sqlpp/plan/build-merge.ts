// Resolves and plans MERGE.
import { keyspaceText } from '../datastore/keyspace.ts';
import { sqlError } from '../errors/sql-error.ts';
import type { Merge } from '../tree/change.ts';
import { notInText } from '../tree/identifier.ts';
import { Block, type Source } from './block.ts';
import { bindSlots, planFrom, planSelect } from './build.ts';
import { changeAccess, changesOf, returningOf } from './build-change.ts';
import type { MergePlan } from './change-plans.ts';
import { joinPlan } from './joins.ts';
import type { JoinFrom, JoinSide, KeyspaceFrom, KeyspaceRef } from './logical.ts';
import type { PlanningContext } from './planning.ts';
import { addSource, resolveFrom } from './resolve-from.ts';
import type { NameResolver } from './resolving.ts';
import { Scope } from './scope.ts';

export function planMerge(resolver: NameResolver, planning: PlanningContext, node: Merge): MergePlan {
  checkMerge(node);
  const block = new Block();
  const scope = new Scope(block, undefined);
  const sources: Source[] = [];
  const using = resolveFrom(resolver, node.using, scope, sources) as JoinSide;
  // Keys and new documents are expressions over the rows of USING only.
  const usingScope = scope.inner();
  const target = targetKeyspace(resolver, node);
  const alias = node.into.alias ?? (node.into.path.parts.at(-1) as string);
  if (scope.find(alias)) throw sqlError(4020, 'MERGE', alias);
  const key = node.isOnKey ? resolver.expression(node.on, usingScope) : undefined;
  scope.defaultSource = undefined;
  const joined = scope.inner();
  const source = addSource(joined, sources, alias, node.into.alias !== undefined, 'keyspace');
  source.usesMeta = true;
  joined.defaultSource = undefined;
  const on = node.isOnKey ? undefined : resolver.expression(node.on, joined);
  const into: KeyspaceFrom = {
    kind: 'keyspace',
    source,
    keyspace: target,
    keys: node.into.use.keys && resolver.expression(node.into.use.keys, usingScope),
    use: node.into.use,
  };
  const actions = actionsOf(resolver, node, source, joined, usingScope);
  const returning = node.returning && returningOf(resolver, node.returning, joined);
  const limit = node.limit && resolver.expression(node.limit, scope);
  const access = changeAccess(planning, block, []);
  const available = new Set<number>();
  const join: JoinFrom = {
    kind: 'join',
    join: 'left',
    left: using,
    right: into,
    on: { kind: 'on', condition: on },
    isLateral: false,
  };
  const root = node.isOnKey
    ? planFrom(access, using, [], available)
    : joinPlan(access, join, [], available, planFrom, planSelect);
  bindSlots(source, available);
  return {
    kind: 'merge',
    block,
    target,
    source,
    root,
    key,
    ...actions,
    limit,
    returning,
    covered: access.covered,
    // MERGE reads the documents that it matches.
    writesAtEnd: true,
  };
}

/** The keyspace of INTO. The statement requires the privileges for its actions; without actions that for an insertion. */
function targetKeyspace(
  resolver: NameResolver,
  { into, update, delete: remove, insert }: Merge,
): KeyspaceRef {
  if (update) resolver.keyspace(into.path, 'update');
  const target = resolver.keyspace(into.path, remove ? 'delete' : update ? 'update' : 'insert');
  if (!target.keyspace) throw sqlError(11003, `MERGE on ${keyspaceText(target.name)}`);
  return insert ? resolver.keyspace(into.path, 'insert') : target;
}

/** The actions: those for a match are expressions over `joined`, the insertion is one over the rows of USING. */
function actionsOf(
  resolver: NameResolver,
  node: Merge,
  source: Source,
  joined: Scope,
  usingScope: Scope,
): Pick<MergePlan, 'update' | 'delete' | 'insert'> {
  const update = node.update && {
    changes: changesOf(resolver, node.update.set, node.update.unset, joined, source),
    where: node.update.where && resolver.expression(node.update.where, joined),
  };
  const remove = node.delete && {
    where: node.delete.where && resolver.expression(node.delete.where, joined),
  };
  const insert = node.insert && {
    values: {
      ...(node.insert.key && { key: resolver.expression(node.insert.key, usingScope) }),
      // Without VALUE the row of USING becomes the document.
      value: resolver.expression(node.insert.value ?? { kind: 'self', at: notInText }, usingScope),
      ...(node.insert.options && { options: resolver.expression(node.insert.options, usingScope) }),
    },
    where: node.insert.where && resolver.expression(node.insert.where, usingScope),
  };
  return { update, delete: remove, insert };
}

/** @throws SqlError 3150, 3160, 3180, 3190 for clauses that ON KEY does not allow, or ON requires */
function checkMerge(node: Merge): void {
  if (node.isOnKey) {
    if (node.insert?.key) throw sqlError(3150);
    if (node.into.use.indexes.length > 0) throw sqlError(3180);
    if (node.using.use.join) throw sqlError(3190);
  } else if (node.insert && !node.insert.key) throw sqlError(3160);
}
