// Finds the distinguished name of a user at an LDAP server.
import type { Client } from 'ldapts';
import { escapedDn, escapedFilter, noAttributes, parseDnQuery } from './ldap-queries.ts';
import type { DnMapping, LdapSettings } from './ldap-settings.ts';
import { bindForQueries, LdapRefusalError } from './query-login.ts';

export async function dnOf(client: Client, settings: LdapSettings, name: string): Promise<string> {
  const mapping = settings.userDNMapping as Partial<{ template: string; query: string }> & Partial<DnMapping>;
  if (mapping.template !== undefined) return mapping.template.replaceAll('%u', escapedDn(name));
  const query = parseDnQuery(mapping.query ?? '');
  // Without a mapping the name is the distinguished name.
  if (query === null) return name;
  await bindForQueries(client, settings);
  const { searchEntries } = await client.search(query.base.replaceAll('%u', escapedDn(name)), {
    scope: query.scope,
    filter: query.filter.replaceAll('%u', escapedFilter(name)),
    attributes: [noAttributes],
    sizeLimit: 2,
  });
  const [found, ...others] = searchEntries;
  if (found === undefined) throw new LdapRefusalError('no entry has that name');
  if (others.length > 0) throw new LdapRefusalError('several entries have that name');
  return found.dn;
}
