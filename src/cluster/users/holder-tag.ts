// The entity tag of a user or group: another one after each change but those of a password or of limits. A client that read the user or group
// sends the tag with its change (`If-Match`), and the node refuses the change if the tag is another one by then.
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

/**
 * `tags`: one, or several separated by commas (RFC 9110, 13.1.1); `*` admits any user or group that is stored, and undefined a missing one too.
 * @throws a refusal unless the stored user or group has one of them
 */
export function requireTag(
  tags: string | undefined,
  present: StoredExternal | StoredGroup | undefined,
): void {
  if (tags === undefined) return;
  const admitted = tags.split(',').map((tag) => tag.trim());
  if (present !== undefined && (tags === '*' || admitted.includes(tagOf(present)))) return;
  throw userRefusals.changedMeanwhile();
}
