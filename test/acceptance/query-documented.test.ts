// Statements that the published documentation shows, and refusals that name what this node lacks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
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

test('other metadata cannot be changed', async () => {
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
    assert.match(errors?.[0]?.msg ?? '', /^SET clause has invalid path .* expiration and xattrs\.name are/);
  }
  assert.equal(await code(`${update} UNSET META().expiration`), 3000);
});

test('statements for services that a node lacks are refused by name', async () => {
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
