// Decides whether roles grant a permission. Within a role the first matching pattern decides; one granting role suffices.
import { assert } from '#base/assert.ts';
import type { Permission, PermissionStep } from './permission.ts';
import type { RoleDefinition, RoleLevel } from './roles/definition.ts';
import { rolesById } from './roles/index.ts';

/** A granted role with the names that limit it, null for any; as many names as its level has. */
export interface GrantedRole {
  readonly role: string;
  readonly names: readonly (string | null)[];
}

export const namesOfLevel: Record<RoleLevel, number> = { cluster: 0, bucket: 1, scope: 2, collection: 3 };

/** The name in a permission that asks for all buckets, scopes or collections: only a pattern for any name matches it. */
export const everyName = '*';

interface CompiledPattern {
  readonly object: readonly PermissionStep[];
  readonly operations: 'all' | 'none' | ReadonlySet<string>;
}

export function allows(roles: readonly GrantedRole[], permission: Permission): boolean {
  const object = permission.object.map((step) => asCollection(step, everyName));
  return roles.some((role) => roleAllows(role, object, permission.operation));
}

function roleAllows(granted: GrantedRole, object: readonly PermissionStep[], operation: string): boolean {
  const pattern = patternsOf(granted.role).find((candidate) =>
    covers(candidate.object, object, granted.names),
  );
  if (!pattern || pattern.operations === 'none') return false;
  return pattern.operations === 'all' || operation === 'any' || pattern.operations.has(operation);
}

function covers(
  pattern: readonly PermissionStep[],
  object: readonly PermissionStep[],
  granted: GrantedRole['names'],
): boolean {
  if (object.length < pattern.length) return false;
  return pattern.every((step, index) => stepCovers(step, object[index] as PermissionStep, granted));
}

function stepCovers(pattern: PermissionStep, step: PermissionStep, granted: GrantedRole['names']): boolean {
  if (pattern.name !== step.name) return false;
  return pattern.names.every((slot, index) => {
    const wanted = slot === null ? null : (granted[slotIndex(slot)] ?? null);
    const requested = step.names[index] ?? null;
    return wanted === null || requested === null || wanted === requested;
  });
}

/** In patterns, the placeholders for the bucket, the scope and the collection to which a role is granted. */
const slots = ['b', 's', 'c'];
const slotIndex = (slot: string) => slots.indexOf(slot);

/**
 * Objects of buckets and scopes are treated as collections: all are compared as bucket, scope, collection. `omitted` takes the place
 * of the names that the step does not have.
 */
function asCollection(step: PermissionStep, omitted: string | null): PermissionStep {
  if (step.names.length === 0) return step;
  return { name: 'collection', names: [0, 1, 2].map((index) => valueAt(step, index, omitted)) };
}

const valueAt = (step: PermissionStep, index: number, omitted: string | null) =>
  index < step.names.length ? (step.names[index] as string | null) : omitted;

const compiled = new WeakMap<RoleDefinition, readonly CompiledPattern[]>();

function patternsOf(id: string): readonly CompiledPattern[] {
  const definition = rolesById.get(id);
  if (!definition) return [];
  const cached = compiled.get(definition);
  if (cached) return cached;
  const patterns = definition.patterns.map(([object, operations]) => ({
    object: parseObject(object),
    operations: parseOperations(operations),
  }));
  compiled.set(definition, patterns);
  return patterns;
}

function parseOperations(text: string): CompiledPattern['operations'] {
  return text === 'all' || text === 'none' ? text : new Set(text.split(' '));
}

function parseObject(text: string): PermissionStep[] {
  const steps = text.match(/[a-z0-9_]+(\[[^\]]*\])?/g) ?? [];
  assert(steps.join('.') === text, `malformed pattern ${text}`);
  return steps.map((step) => {
    const [, name, inside] = /^([a-z0-9_]+)(?:\[(.*)\])?$/.exec(step) as unknown as [string, string, string?];
    const names = inside?.split(':').map((slot) => (slot === '.' ? null : slot)) ?? [];
    assert(
      names.every((slot) => slot === null || slots.includes(slot)),
      `malformed pattern ${text}`,
    );
    return asCollection({ name, names }, null);
  });
}

/** True when one of the roles has the id and includes `names`. For the id `security_admin`, either of the roles that it was divided into suffices. */
export function holdsRole(
  roles: readonly GrantedRole[],
  id: string,
  names: readonly (string | null)[] = [],
): boolean {
  return roles.some(
    (granted) =>
      (granted.role === id || (id === 'security_admin' && securityAdmin.has(granted.role))) &&
      names.every((name, index) => (granted.names[index] ?? null) === null || granted.names[index] === name),
  );
}

const securityAdmin = new Set(['security_admin_local', 'security_admin_external']);
