// Roles as text: `admin`, `data_reader[bucket:scope]`, with `*` for any; lists are separated by commas.
import { type GrantedRole, namesOfLevel } from './role-rules.ts';
import { rolesById } from './roles/index.ts';

/** Roles of older releases, and the present roles into which each was divided. */
const dividedRoles: ReadonlyMap<string, readonly string[]> = new Map([
  ['security_admin', ['security_admin_local', 'security_admin_external']],
]);

/** Parses a list of roles; invalid entries are returned in `invalid` as sent. */
export function parseRoles(list: string): { roles: GrantedRole[]; invalid: string[] } {
  const valid = new Map<string, GrantedRole>();
  const invalid: string[] = [];
  for (const text of list.split(',').map((part) => part.trim())) {
    if (text === '') continue;
    const roles = (dividedRoles.get(text.toLowerCase()) ?? [text]).map(parseRole);
    for (const role of roles) if (role) valid.set(roleText(role), role);
    if (roles.includes(null)) invalid.push(text);
  }
  return { roles: [...valid.values()], invalid };
}

/** Omitted trailing names mean any. No name may follow `*`: `[*:scope]` is not a role. */
function parseRole(text: string): GrantedRole | null {
  const [, id, inside] = /^([A-Za-z_]+)(?:\[([^\]]+)\])?$/.exec(text) ?? [];
  const definition = rolesById.get(id?.toLowerCase() ?? '');
  if (!definition) return null;
  const count = namesOfLevel[definition.level];
  const parameters =
    inside === undefined ? [] : inside.split(':').map((name) => (name === '*' ? null : name));
  const asExpected = count === 0 ? inside === undefined : parameters.length > 0 && parameters.length <= count;
  if (!asExpected || parameters.includes('')) return null;
  const names = Array.from({ length: count }, (_, index) => parameters[index] ?? null);
  const belowAny = names.some((name, index) => name !== null && names.slice(0, index).includes(null));
  return belowAny ? null : { role: definition.id, names };
}

/** The canonical text of a role: trailing names that mean any are omitted. */
export function roleText(role: GrantedRole): string {
  if (role.names.length === 0) return role.role;
  const named = role.names.filter((name) => name !== null);
  return `${role.role}[${named.length === 0 ? '*' : named.join(':')}]`;
}
