// Advises on indexes for MERGE: of USING for the conditions on it alone, and of the target for all conditions of ON.
import type { Keyspace } from '../datastore/keyspace.ts';
import { Block, type Source } from '../plan/block.ts';
import { conjunctsOf, readsAny } from '../plan/conjuncts.ts';
import { addSource, resolveFrom } from '../plan/resolve-from.ts';
import type { Resolver } from '../plan/resolver.ts';
import { Scope } from '../plan/scope.ts';
import type { Merge } from '../tree/change.ts';
import type { Expression } from '../tree/expression.ts';
import type { Advice } from './advised-index.ts';
import { sourceSlots } from './predicates.ts';

type SideAdvice = (
  keyspace: Keyspace,
  source: Source,
  conditions: readonly Expression[],
) => Advice | undefined;

export function mergeAdvice(resolver: Resolver, node: Merge, adviceOf: SideAdvice): Advice[] {
  if (node.isOnKey) return [];
  const scope = new Scope(new Block(), undefined);
  const sources: Source[] = [];
  const using = resolveFrom(resolver, node.using, scope, sources);
  const { keyspace } = resolver.keyspace(node.into.path, 'update');
  const joined = scope.inner();
  const alias = node.into.alias ?? (node.into.path.parts.at(-1) as string);
  const target = addSource(joined, sources, alias, node.into.alias !== undefined, 'keyspace');
  joined.defaultSource = undefined;
  const on = conjunctsOf(resolver.expression(node.on, joined));
  const usingConditions = on.filter((each) => !readsAny(each, sourceSlots(target)));
  const advice = [
    using.kind === 'keyspace' && using.keyspace.keyspace && !using.keys
      ? adviceOf(using.keyspace.keyspace, using.source, usingConditions)
      : undefined,
    keyspace ? adviceOf(keyspace, target, on) : undefined,
  ];
  return advice.filter((each) => each !== undefined);
}
