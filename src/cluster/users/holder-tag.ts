// The entity tag of a user or group, which changes with its roles, groups and names: who read it can change exactly what was read (`If-Match`).
import { createHash } from 'node:crypto';
import { userRefusals } from '../refusals/users.refusals.ts';
import type { StoredExternal, StoredGroup } from './users.store.ts';

export function tagOf(holder: StoredExternal | StoredGroup): string {
  const { id, roles } = holder;
  const rest =
    'groups' in holder ? [holder.uuid, holder.name, holder.groups] : [holder.description, holder.ldapRef];
  const text = JSON.stringify([id, roles, ...rest]);
  return `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`;
}

/** @throws a refusal unless what is stored has the tag. Undefined admits anything. */
export function requireTag(tag: string | undefined, present: StoredExternal | StoredGroup | undefined): void {
  if (tag === undefined || (present !== undefined && (tag === '*' || tag === tagOf(present)))) return;
  throw userRefusals.changedMeanwhile();
}
