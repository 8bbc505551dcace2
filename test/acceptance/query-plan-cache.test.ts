// Statements that are sent again and again, whose plans the service keeps: no plan outlives what it was made of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noSequentialScans } from '#query/query.contract.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';

interface Answer {
  status: string;
  results: unknown[];
  errors?: { code: number; msg: string }[];
  profile?: { phaseOperators?: Record<string, number> };
}

/** The default of `queryN1QLFeatCtrl`. */
const defaultFeatures = 76;

type Account = typeof administrator;
type Fields = Record<string, unknown>;

async function aQueryNode() {
  const node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  const { rest, query = '' } = node.ready.node;
  const tokenOf = ({ username, password }: Account): string =>
    `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const ask = async (statement: string, fields: Fields = {}, account = administrator): Promise<Answer> => {
    const answer = await fetch(`${query}/query/service`, {
      method: 'POST',
      headers: { authorization: tokenOf(account), 'content-type': 'application/json' },
      body: JSON.stringify({ statement, ...fields }),
    });
    return (await answer.json()) as Answer;
  };
  return {
    ask,
    run: async (statement: string, fields: Fields = {}): Promise<unknown[]> => {
      const { results, errors } = await ask(statement, fields);
      assert.equal(errors, undefined, statement);
      return results;
    },
    /** The results of the third of three requests, which uses the plan of the second if nothing changed. */
    repeated: async (statement: string, fields: Fields = {}): Promise<unknown[]> => {
      await ask(statement, fields);
      await ask(statement, fields);
      return (await ask(statement, fields)).results;
    },
    /** The operators that run the statement. */
    operatorsOf: async (statement: string): Promise<string[]> =>
      Object.keys((await ask(statement, { profile: 'phases' })).profile?.phaseOperators ?? {}),
    form: (path: string, method: string, fields: Record<string, string> = {}) =>
      fetch(rest + path, {
        method,
        headers: { authorization: tokenOf(administrator) },
        ...(method !== 'DELETE' && { body: new URLSearchParams(fields) }),
      }),
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  };
}

test('a repeated statement uses a new index, does without a dropped one, and follows settings', async () => {
  await using node = await aQueryNode();
  const statement = 'SELECT RAW META(d).id FROM b d WHERE d.n = 1';
  await node.run('UPSERT INTO b VALUES ("k1", {"n": 1}), ("k2", {"n": 2})');
  assert.deepEqual(await node.repeated(statement), ['k1']);
  assert.ok((await node.operatorsOf(statement)).includes('primaryScan'));
  await node.run('CREATE INDEX by_n ON b(n)');
  assert.deepEqual(await node.repeated(statement), ['k1']);
  assert.ok((await node.operatorsOf(statement)).includes('indexScan'));
  await node.run('DROP INDEX by_n ON b');
  assert.deepEqual(await node.repeated(statement), ['k1']);
  assert.ok((await node.operatorsOf(statement)).includes('primaryScan'));
  assert.equal((await node.ask(statement, { n1ql_feat_ctrl: noSequentialScans })).errors?.[0]?.code, 4000);
  await node.form('/settings/querySettings', 'POST', {
    queryN1QLFeatCtrl: String(defaultFeatures + noSequentialScans),
  });
  await eventually(async () =>
    assert.equal((await node.ask(statement)).errors?.[0]?.code, 4000, 'the setting is not in use'),
  );
  await node.form('/settings/querySettings', 'POST', { queryN1QLFeatCtrl: String(defaultFeatures) });
  await eventually(async () => assert.deepEqual(await node.repeated(statement), ['k1']));
});

test('a repeated statement sees that its collection was dropped and made again', async () => {
  await using node = await aQueryNode();
  const fields = { query_context: 'default:b._default' };
  const statement = 'SELECT RAW c.n FROM c';
  await node.run('CREATE COLLECTION b._default.c');
  await node.run('UPSERT INTO b._default.c VALUES ("k", {"n": 1})');
  assert.deepEqual(await node.repeated(statement, fields), [1]);
  await node.run('DROP COLLECTION b._default.c');
  assert.equal((await node.ask(statement, fields)).errors?.[0]?.code, 12003);
  await node.run('CREATE COLLECTION b._default.c');
  assert.deepEqual(await node.repeated(statement, fields), []);
  await node.run('CREATE SCOPE b.s');
  await node.run('CREATE COLLECTION b.s.c');
  await node.run('UPSERT INTO b.s.c VALUES ("k", {"n": 2})');
  assert.deepEqual(await node.repeated(statement, { query_context: 'default:b.s' }), [2]);
  assert.deepEqual(await node.repeated(statement, fields), []);
});

test('a repeated statement is refused to users without its roles, also after they lost them', async () => {
  await using node = await aQueryNode();
  const user = { username: 'u', password: 'password' };
  const grant = (roles: string) =>
    node.form('/settings/rbac/users/local/u', 'PUT', { password: user.password, roles });
  const statement = 'SELECT RAW 1 FROM b LIMIT 1';
  await node.repeated(statement);
  await grant('query_select[b]');
  await eventually(async () => assert.equal((await node.ask(statement, {}, user)).errors, undefined));
  await grant('query_insert[b]');
  assert.equal((await node.ask(statement, {}, user)).errors?.[0]?.code, 13014);
  await node.form('/settings/rbac/users/local/u', 'DELETE');
  assert.notEqual((await node.ask(statement, {}, user)).errors, undefined);
});

test('a repeated statement is answered by the values of its parameters and the present function', async () => {
  await using node = await aQueryNode();
  await node.run('UPSERT INTO b VALUES ("k1", {"n": 1, "s": "abc"}), ("k2", {"n": 2, "s": "a%c"})');
  await node.run('CREATE INDEX by_s ON b(s)');
  await node.run('CREATE INDEX large ON b(n, s) WHERE n >= 2');
  const like = 'SELECT RAW META(d).id FROM b d WHERE d.s LIKE $p ORDER BY META(d).id';
  assert.deepEqual(await node.repeated(like, { $p: 'a%' }), ['k1', 'k2']);
  assert.deepEqual(await node.repeated(like, { $p: 'a\\%c' }), ['k2']);
  assert.deepEqual(await node.repeated(like, { $p: '%b%' }), ['k1']);
  assert.deepEqual(await node.repeated(like, { $p: null }), []);
  const partial = 'SELECT RAW META(d).id FROM b d WHERE d.n >= $1 ORDER BY META(d).id';
  assert.deepEqual(await node.repeated(partial, { args: [2] }), ['k2']);
  assert.deepEqual(await node.repeated(partial, { args: [1] }), ['k1', 'k2']);
  assert.deepEqual(await node.repeated(partial, { args: [2] }), ['k2']);
  await node.run('CREATE FUNCTION f() { 1 }');
  assert.deepEqual(await node.repeated('SELECT RAW f()'), [1]);
  await node.run('CREATE OR REPLACE FUNCTION f() { 2 }');
  assert.deepEqual(await node.repeated('SELECT RAW f()'), [2]);
});
