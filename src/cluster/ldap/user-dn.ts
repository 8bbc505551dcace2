// Finds the distinguished name of a user at an LDAP server.
import type { Client } from 'ldapts';
import { escapedDn, escapedFilter, noAttributes, parseDnQuery } from './ldap-queries.ts';
import type { DnMapping, LdapSettings } from './ldap-settings.ts';
import { bindForQueries, LdapRefusalError } from './query-login.ts';

export async function dnOf(client: Client, settings: LdapSettings, name: string): Promise<string> {
  const mapping = settings.userDNMapping as Partial<{ template: string; query: string }> & Partial<DnMapping>;
  if (mapping.template !== undefined) return filled(mapping.template, escapedDn(name));
  const query = parseDnQuery(mapping.query ?? '');
  // Without a mapping the name is the distinguished name.
  if (query === null) return name;
  await bindForQueries(client, settings);
  const { searchEntries } = await client.search(filled(query.base, escapedDn(name)), {
    scope: query.scope,
    filter: filled(query.filter, escapedFilter(name)),
    attributes: [noAttributes],
    sizeLimit: 2,
  });
  const [found, ...others] = searchEntries;
  if (found === undefined) throw new LdapRefusalError('no entry has that name');
  if (others.length > 0) throw new LdapRefusalError('several entries have that name');
  return found.dn;
}

/** The replacement is a function, since `$` has a meaning in a replacement text: the name `a$$b` would be looked up as `a$b`. */
const filled = (text: string, name: string): string => text.replaceAll('%u', () => name);
