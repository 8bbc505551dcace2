// Replaces names in expressions by slots. A name is an alias or a variable in scope, else a field of the default source.

import { sqlError } from '../errors/sql-error.ts';
import type {
  Call,
  Expression,
  Field,
  Identifier,
  RangeBinding,
  Subquery,
  UserCall,
} from '../tree/expression.ts';
import { identifierOf } from '../tree/identifier.ts';
import type { Source } from './block.ts';
import type { NamedExpression } from './logical.ts';
import {
  type ExternalCall,
  type InlineCall,
  type NameResolver,
  near,
  type ResolvedSubquery,
} from './resolving.ts';
import { type Scope, type SourceInScope, slotOf, sourceSlot } from './scope.ts';
import { mapChildren, mapRange, variablesOf } from './walk.ts';

export function resolveExpression(resolver: NameResolver, node: Expression, scope: Scope): Expression {
  const resolve = (child: Expression): Expression => resolveExpression(resolver, child, scope);
  switch (node.kind) {
    case 'identifier':
      return resolveName(resolver, node, scope);
    case 'self':
      return selfOf(scope, node.at);
    case 'call':
      return resolveCall(resolver, node, scope);
    case 'field':
      return resolveField(resolver, node, scope);
    case 'quantified':
    case 'comprehension':
      return resolveRange(resolver, node, scope);
    case 'subquery':
      return resolveSubquery(resolver, node, scope);
    case 'user call':
      return resolveUserCall(resolver, node, scope);
    default:
      return mapChildren(node, resolve);
  }
}

function resolveName(resolver: NameResolver, node: Identifier, scope: Scope): Expression {
  const bound = scope.lookup(node.name, node.at);
  if (bound) return bound;
  const source = scope.defaultSource;
  if (!source) throw sqlError(3080, node.name, near(resolver.text, node.at));
  return {
    kind: 'field',
    of: { ...sourceSlot(source), at: node.at },
    name: { kind: 'constant', value: node.name, at: node.at },
    ignoresCase: node.ignoresCase,
    at: node.at,
  };
}

function resolveCall(resolver: NameResolver, node: Call, scope: Scope): Expression {
  if (node.name === 'meta') return resolveMeta(resolver, node, scope);
  if (node.name === 'curl') resolver.require('curl');
  const [first] = node.arguments;
  if ((node.name === 'unnest_pos' || node.name === 'unnest_position') && first?.kind === 'identifier') {
    const found = scope.find(first.name);
    const slot = found?.binding.kind === 'source' ? found.binding.source.positionSlot : undefined;
    if (slot === undefined || !found) return { kind: 'constant', value: undefined, at: node.at };
    return scope.capture(slotOf(slot, node), found.scope);
  }
  return mapChildren(node, (child) => resolveExpression(resolver, child, scope));
}

/** The members of META() that every read of a document returns: the data service returns the expiration only on request. */
const plainMembers = new Set<unknown>(['id', 'cas', 'flags', 'type', 'xattrs']);

function resolveField(resolver: NameResolver, node: Field, scope: Scope): Expression {
  const { of, name } = node;
  recordXattr(node, scope);
  if (of.kind !== 'call' || of.name !== 'meta' || name.kind !== 'constant')
    return metaField(
      mapChildren(node, (child) => resolveExpression(resolver, child, scope)),
      scope,
    );
  const isPlain = plainMembers.has(name.value);
  return metaField({ ...node, of: resolveMeta(resolver, of, scope, isPlain) }, scope);
}

/** `META(a).xattrs.name`: reads of the source return the attributes that are recorded here, and no others. */
function recordXattr({ of, name }: Field, scope: Scope): void {
  if (name.kind !== 'constant' || of.kind !== 'field' || of.of.kind !== 'call' || of.of.name !== 'meta')
    return;
  if (of.name.kind !== 'constant' || of.name.value !== 'xattrs') return;
  sourceOfMeta(of.of, scope)?.source.xattrs.add(String(name.value));
}

/** The source whose metadata META() reads, and the scope of the source. */
function sourceOfMeta(node: Call, scope: Scope): SourceInScope | undefined {
  const [argument] = node.arguments;
  if (!argument) return scope.defaultSource && { source: scope.defaultSource, owner: scope };
  return scope.sourceOf(argument);
}

/** META() of an alias reads the metadata slot of its source. `isPlain`: only a member of `plainMembers` is read of it. */
function resolveMeta(resolver: NameResolver, node: Call, scope: Scope, isPlain = false): Expression {
  const found = sourceOfMeta(node, scope);
  if (node.arguments.length === 0) {
    if (!found) throw sqlError(4310, node.name.toUpperCase(), near(resolver.text, node.at));
    const named = { ...node, arguments: [identifierOf(found.source.alias)] };
    return metaOf(found.source, named, scope, found.owner, isPlain);
  }
  if (found) return metaOf(found.source, node, scope, found.owner, isPlain);
  return mapChildren(node, (child) => resolveExpression(resolver, child, scope));
}

function metaOf(source: Source, node: Call, scope: Scope, owner: Scope, isPlain: boolean): Expression {
  if (source.metaSlot === undefined) return { kind: 'constant', value: null, at: node.at };
  // An inner block reads also the key from the META() object.
  if (owner.block !== scope.block) source.usesMeta = true;
  if (!isPlain) source.usesExpiration = true;
  return scope.capture(slotOf(source.metaSlot, node), owner);
}

/** `META(a).id` of a source of this block reads the key's slot; every other member reads the META() object. */
function metaField(node: Expression, scope: Scope): Expression {
  if (node.kind !== 'field' || node.of.kind !== 'slot') return node;
  const { slot } = node.of;
  for (let each: Scope | undefined = scope; each && each.block === scope.block; each = each.parent) {
    for (const { source } of [...each.names.values()].filter((binding) => binding.kind === 'source')) {
      if (source.metaSlot !== slot) continue;
      if (node.name.kind === 'constant' && node.name.value === 'id' && !node.ignoresCase)
        return slotOf(source.idSlot as number, node);
      source.usesMeta = true;
    }
  }
  return node;
}

function resolveRange(
  resolver: NameResolver,
  node: Extract<Expression, { kind: 'quantified' | 'comprehension' }>,
  scope: Scope,
): Expression {
  const inner = bindRanges(resolver, node.bindings, scope, node.at);
  return mapRange(
    node,
    (array) => resolveExpression(resolver, array, scope),
    (child) => resolveExpression(resolver, child, inner),
  );
}

/** A scope with the variables of ranges. A range does not see the variables of the others. */
function bindRanges(
  resolver: NameResolver,
  bindings: readonly RangeBinding[],
  scope: Scope,
  at: number,
): Scope {
  const inner = scope.inner();
  for (const variable of bindings.flatMap(variablesOf)) {
    refuseDuplicate(resolver.text, variable, inner, at);
    inner.names.set(variable, { kind: 'local' });
  }
  return inner;
}

function resolveUserCall(resolver: NameResolver, node: UserCall, scope: Scope): Expression {
  const mapped = mapChildren(node, (child) => resolveExpression(resolver, child, scope)) as UserCall;
  const call: InlineCall | ExternalCall = { ...mapped, ...resolver.userFunction(node) };
  return call;
}

function resolveSubquery(resolver: NameResolver, node: Subquery, scope: Scope): Expression {
  const logical = resolver.select(node.select, scope);
  const resolved: ResolvedSubquery = {
    ...node,
    logical,
    correlation: logical.block.captures.map((capture) => capture.outer),
  };
  return resolved;
}

export function refuseDuplicate(text: string, variable: string, scope: Scope, at: number): void {
  if (scope.find(variable)) throw sqlError(3081, variable, near(text, at));
}

/** SELF: the row as an object of all aliases and variables. */
function selfOf(scope: Scope, at: number): Expression {
  const members = membersOf(scope).map(({ name, expression }) => ({
    name: { kind: 'constant', value: name, at } as const,
    value: expression,
  }));
  return { kind: 'object', members, at };
}

/** Aliases and variables of the block, without those of WITH: the members of `*`. */
export function membersOf(scope: Scope): NamedExpression[] {
  const members = new Map<string, Expression>();
  const outermostFirst: Scope[] = [];
  for (let each: Scope | undefined = scope; each && each.block === scope.block; each = each.parent)
    outermostFirst.unshift(each);
  for (const [name, binding] of outermostFirst.flatMap((each) => [...each.names])) {
    if (binding.kind === 'source') members.set(name, sourceSlot(binding.source));
    else if (binding.kind === 'variable' && !binding.isWith) members.set(name, binding.expression);
  }
  return [...members].map(([name, expression]) => ({ name, expression }));
}
