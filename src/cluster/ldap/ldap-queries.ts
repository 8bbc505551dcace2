// Reads the queries of the LDAP settings, and escapes the names that replace their placeholders.

/** Escapes a part of a distinguished name, so that a name cannot end it (RFC 4514). */
export const escapedDn = (text: string): string =>
  text.replaceAll(
    /[\\,+"<>;=#\0]|^ | $/g,
    (character) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );

/** Escapes a part of a filter (RFC 4515). */
export const escapedFilter = (text: string): string =>
  text.replaceAll(/[\\*()\0]/g, (character) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** Requests entries without attributes (RFC 4511, 4.5.1.8). */
export const noAttributes = '1.1';

export interface DnQuery {
  base: string;
  scope: 'base' | 'one' | 'sub';
  filter: string;
}

/** `base?attributes?scope?filter`, as in LDAP URLs; null if invalid. */
export function parseDnQuery(query: string): DnQuery | null {
  const [base = '', , scope = '', filter = '(objectClass=*)', ...rest] = query.split('?');
  if (base === '' || rest.length > 0 || !['', 'base', 'one', 'sub'].includes(scope)) return null;
  return { base, scope: (scope === '' ? 'base' : scope) as DnQuery['scope'], filter };
}

export interface GroupsQuery extends DnQuery {
  /** The attribute whose values are the groups; null: the found entries are the groups. */
  attribute: string | null;
}

/** `base?attribute?scope?filter`; or the reason why the text is invalid. */
export function parseGroupsQuery(query: string): GroupsQuery | { problem: string } {
  const attributes = (query.split('?')[1] ?? '').split(',').filter((attribute) => attribute !== '');
  if (query.startsWith('?') || query === '') return { problem: 'Search base cannot be empty' };
  const parsed = parseDnQuery(query);
  if (parsed === null || !/^\(.*\)$/.test(parsed.filter)) return { problem: 'Invalid LDAP query' };
  if (attributes.length > 1) return { problem: 'Only one attribute can be specified' };
  return { ...parsed, attribute: attributes[0] ?? null };
}
