// Finds the groups of a user at an LDAP server, including nested groups.
import type { Client, Entry } from 'ldapts';
import {
  escapedDn,
  escapedFilter,
  type GroupsQuery,
  noAttributes,
  parseGroupsQuery,
} from './ldap-queries.ts';
import type { LdapSettings } from './ldap-settings.ts';
import { bindForQueries, LdapRefusalError } from './query-login.ts';
import { dnOf } from './user-dn.ts';

const groupsMax = 1_000;

/** The values of `%u` and `%D`; null where the query has no such placeholder. */
interface Placeholders {
  name: string | null;
  dn: string | null;
}

export async function groupsOf(client: Client, settings: LdapSettings, name: string): Promise<string[]> {
  if (settings.groupsQuery === '') return [];
  const query = parseGroupsQuery(settings.groupsQuery);
  if ('problem' in query) throw new LdapRefusalError(query.problem);
  const dn = settings.groupsQuery.includes('%D') ? await dnOf(client, settings, name) : null;
  await bindForQueries(client, settings);
  const direct = await queryGroups(client, query, { name, dn });
  return settings.nestedGroupsEnabled ? await withNested(client, query, settings, direct) : direct;
}

/** The groups, and those that contain them: searches level by level and skips groups found before, so that cycles end. */
async function withNested(
  client: Client,
  query: GroupsQuery,
  { nestedGroupsMaxDepth, failOnMaxDepth, groupsQuery }: LdapSettings,
  direct: readonly string[],
): Promise<string[]> {
  if (groupsQuery.includes('%u'))
    throw new LdapRefusalError('%u placeholder is not allowed in nested groups search');
  const all = new Set(direct);
  let level: readonly string[] = direct;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === nestedGroupsMaxDepth) {
      if (failOnMaxDepth) throw new LdapRefusalError('Nested search max depth has been reached');
      break;
    }
    const next: string[] = [];
    for (const group of level)
      for (const parent of await queryGroups(client, query, { name: null, dn: group })) {
        if (all.has(parent) || all.size >= groupsMax) continue;
        all.add(parent);
        next.push(parent);
      }
    level = next;
  }
  return [...all];
}

async function queryGroups(
  client: Client,
  query: GroupsQuery,
  placeholders: Placeholders,
): Promise<string[]> {
  const { base, scope, filter, attribute } = query;
  const { searchEntries } = await client.search(
    filled(base, placeholders, escapedDn, (dn) => dn),
    {
      scope,
      filter: filled(filter, placeholders, escapedFilter, escapedFilter),
      attributes: [attribute ?? noAttributes],
      sizeLimit: groupsMax,
    },
  );
  if (attribute === null) return searchEntries.map(({ dn }) => dn);
  if (searchEntries.length > 1) throw new LdapRefusalError('several entries have that name');
  return searchEntries.flatMap((entry) => valuesOf(entry, attribute));
}

type Escape = (text: string) => string;

const filled = (text: string, { name, dn }: Placeholders, ofName: Escape, ofDn: Escape): string =>
  text.replaceAll(/%[uD]/g, (sign) => (sign === '%u' ? ofName(name ?? '') : ofDn(dn ?? '')));

/** Attribute names are case-insensitive. */
function valuesOf(entry: Entry, attribute: string): string[] {
  const name = Object.keys(entry).find((key) => key.toLowerCase() === attribute.toLowerCase());
  return name === undefined || name === 'dn' ? [] : [entry[name]].flat().map((value) => String(value));
}
