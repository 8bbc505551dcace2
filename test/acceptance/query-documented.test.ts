// Statements that the published documentation shows, and refusals that name what this node lacks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { administrator, eventually } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';
import { RestartedNode } from '../support/restarted-node.ts';

const node = new RestartedNode('shop');
const rows = (statement: string, parameters = {}) => node.queries.rows(statement, parameters);
const code = (statement: string, parameters = {}) => node.queries.code(statement, parameters);

before(async () => {
  await node.start();
  await rows('CREATE PRIMARY INDEX ON shop');
});
after(() => node[Symbol.asyncDispose]());

test('BUILD INDEX takes the names of a subquery, an array or a parameter', async () => {
  for (const name of ['i1', 'i2', 'i3', 'i4'])
    await rows(`CREATE INDEX ${name} ON shop(${name}) WITH {"defer_build": true}`);
  const deferred = 'SELECT RAW name FROM system:indexes WHERE state = "deferred" ORDER BY name';
  await rows(`BUILD INDEX ON shop((${deferred} LIMIT 1))`);
  assert.deepEqual(await rows(deferred), ['i2', 'i3', 'i4']);
  await rows('BUILD INDEX ON shop(["i2"], $more)', { $more: ['i3'] });
  assert.deepEqual(await rows(deferred), ['i4']);
  assert.equal(await code('BUILD INDEX ON shop((SELECT name FROM system:indexes))'), 5410);
});

test('UPDATE sets and removes attributes of documents', async () => {
  const attributes = 'SELECT RAW [META().xattrs.a, META().xattrs.b] FROM shop USE KEYS "x"';
  await rows(
    'INSERT INTO shop (KEY, VALUE, OPTIONS) VALUES ("x", {}, {"xattrs": {"a": 1, "b": {"c": 2}, "n": null}})',
  );
  const set = 'UPDATE shop USE KEYS "x" SET META().xattrs.b = {"c": 3} RETURNING RAW META().xattrs.b';
  assert.deepEqual(await rows(set), [{ c: 3 }]);
  assert.deepEqual(await rows(attributes), [[1, { c: 3 }]]);
  await rows('UPDATE shop USE KEYS "x" SET META().xattrs.a = NULL, v = 1 UNSET META().xattrs.b');
  assert.deepEqual(await rows(attributes), [[null, null]]);
  assert.deepEqual(
    await rows('SELECT META().xattrs.a IS NULL AS a, META().xattrs.b IS MISSING AS b FROM shop USE KEYS "x"'),
    [{ a: true, b: true }],
  );
  await rows('UPDATE shop USE KEYS "x" UNSET META().xattrs.b');
});

test('metadata other than the expiration and single attributes cannot be changed', async () => {
  const update = 'UPDATE shop USE KEYS "x"';
  for (const path of [
    'META().cas',
    'META().id',
    'META().xattrs',
    'META().xattrs.a.b',
    'META().expiration.x',
  ]) {
    const { errors } = await node.queries.ask(`${update} SET ${path} = 1`);
    assert.equal(errors?.[0]?.code, 3000, path);
    assert.match(
      errors?.[0]?.msg ?? '',
      /^SET clause has invalid path .* it can change only expiration and xattrs\.name/,
    );
  }
  assert.equal(await code(`${update} UNSET META().expiration`), 3000);
});

test('statements for services that a node lacks are refused, and the text says what is missing', async () => {
  const refused: readonly (readonly [statement: string, text: RegExp])[] = [
    ['CREATE INDEX f ON shop(a) USING FTS', /USING FTS: indexes of this node are those of USING GSI/],
    ['DROP INDEX f ON shop USING VIEW', /USING VIEW/],
    ['SELECT * FROM shop WHERE SEARCH(shop, "x")', /SEARCH\(\): this node has no search service/],
    ['SELECT SEARCH_SCORE() FROM shop', /no search service/],
  ];
  for (const [statement, text] of refused) {
    const { errors } = await node.queries.ask(statement);
    assert.equal(errors?.[0]?.code, 16003, statement);
    assert.match(errors?.[0]?.msg ?? '', text);
  }
});

test('CURL reads only what role and allowlist permit, and never this machine', async () => {
  const rest = new URL(node.process.ready.node.rest);
  const own = `SELECT RAW CURL("${rest.origin}/pools", {"user": "Administrator:password"})`;
  const refusal = async (statement: string, by = node.queries): Promise<string> => {
    const { errors } = await by.ask(statement);
    return `${errors?.[0]?.code} ${errors?.[0]?.msg}`;
  };
  assert.match(await refusal(own), /^5010 .*CURL\(\): The end point http:.*\/pools is not permitted/);
  const allow = async (list: object, status = 200): Promise<string> => {
    const { username, password } = administrator;
    const response = await fetch(`${rest.origin}/settings/querySettings/curlWhitelist`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(`${username}:${password}`)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(list),
    });
    assert.equal(response.status, status);
    return await response.text();
  };
  for (const address of ['ftp://a', 'a.example', 'https://', 'https://a:b@c', 5])
    assert.match(
      await allow({ all_access: false, allowed_urls: [address] }, 400),
      /allowed_urls must be a list of at most 1000 addresses .*with http/,
    );
  await allow({ all_access: false, allowed_urls: [rest.origin] });
  assert.match(await refusal(own), /^5010 .*its address is forbidden/);
  await allow({ all_access: true });
  for (const host of ['localhost', '127.0.0.1', '[::ffff:127.0.0.1]', '169.254.169.254'])
    assert.match(
      await refusal(`SELECT CURL("http://${host}:${rest.port}/")`),
      /^5010 .*its address is/,
      host,
    );
  assert.match(await refusal('SELECT CURL("http://a.example", {"proxy": "x"})'), /option proxy: it is not/);
  assert.deepEqual(await rows('SELECT RAW CURL(NULL)'), [null]);
  const unresolved = await refusal('SELECT CURL("http://nosuch.invalid/", {"connect-timeout": 2})');
  assert.match(unresolved, /^5010 .*the connection (failed: E|took more than 2 seconds)/);
  assert.deepEqual(await rows('SELECT 1 AS a'), [{ a: 1 }]);

  const form = { password: 'password', roles: 'query_select[shop]' };
  await node.process.request('/settings/rbac/users/local/reader', 'PUT', form);
  const reader = new QueryClient(node.process.ready.node.query ?? '', {
    username: 'reader',
    password: 'password',
  });
  await eventually(async () => assert.equal(await reader.code('SELECT 1'), 0));
  await rows('CREATE FUNCTION outside(url) { CURL(url) }');
  for (const statement of [own, 'SELECT outside("http://a.example")', 'UPDATE shop SET a = CURL("http://b")'])
    assert.match(await refusal(statement, reader), /^13014 /, statement);
  assert.match(
    await refusal(own, reader),
    /queries using the CURL\(\) function. Add role query_external_access/,
  );
  const external = { ...form, roles: 'query_external_access' };
  await node.process.request('/settings/rbac/users/local/reader', 'PUT', external);
  await eventually(async () => assert.match(await refusal(own, reader), /^5010 .*its address is forbidden/));
  const shown = JSON.stringify(await rows('SELECT RAW statement FROM system:completed_requests'));
  assert.doesNotMatch(shown, /Administrator:password/);
});
