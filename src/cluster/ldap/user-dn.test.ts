import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from 'ldapts';
import { defaultLdapSettings } from './ldap-settings.ts';
import { dnOf } from './user-dn.ts';

test('dollar signs in a name have no special meaning in the template or the query', async () => {
  const searches: [string, unknown][] = [];
  const client = {
    bind: async () => {},
    search: async (base: string, { filter }: { filter: string }) => {
      searches.push([base, filter]);
      return { searchEntries: [{ dn: 'cn=found' }] };
    },
  } as unknown as Client;
  for (const name of ['a$$b', 'a$&b', "a$'b", 'a$`b']) {
    const template = { ...defaultLdapSettings, userDNMapping: { template: 'uid=%u,dc=test' } };
    assert.equal(await dnOf(client, template, name), `uid=${name},dc=test`);
    const query = { ...defaultLdapSettings, userDNMapping: { query: 'ou=%u??one?(uid=%u)' } };
    assert.equal(await dnOf(client, query, name), 'cn=found');
    assert.deepEqual(searches.pop(), [`ou=${name}`, `(uid=${name})`]);
  }
});
