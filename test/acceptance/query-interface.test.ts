// The published interface of the query and index services over their ports: each keyspace of the catalog, each administration path, the
// parameters that only influence speed, and codes by which clients choose an error.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { administrator } from '../support/node-process.ts';
import { RestartedNode } from '../support/restarted-node.ts';

const node = new RestartedNode('shop');
const rows = (statement: string, parameters = {}) => node.queries.rows(statement, parameters);

const { username, password } = administrator;
const headers = { authorization: `Basic ${btoa(`${username}:${password}`)}` };
/** The login of a user who may read the bucket, and nothing else. */
const readerHeaders = { authorization: `Basic ${btoa('reader:password')}` };

before(async () => {
  await node.start();
  // Every request is recorded, however fast it is.
  const settings = { method: 'POST', headers, body: JSON.stringify({ 'completed-threshold': 0 }) };
  assert.equal((await fetch(`${node.process.ready.node.query}/admin/settings`, settings)).status, 200);
  await rows('CREATE SCOPE shop.s');
  await rows('CREATE COLLECTION shop.s.c');
  await rows('CREATE PRIMARY INDEX ON shop');
  await rows('UPSERT INTO shop (KEY, VALUE) VALUES ("k", {"a": 1})');
  await rows('PREPARE p1 AS SELECT 1');
  await rows('CREATE FUNCTION twice(x) { x * 2 }');
  await node.process.request('/settings/rbac/users/local/reader', 'PUT', {
    password: 'password',
    roles: 'query_select[shop]',
  });
});
after(() => node[Symbol.asyncDispose]());

/** Members that a row of each keyspace has; null: the keyspace has no rows on this node. */
const catalog: Readonly<Record<string, readonly string[] | null>> = {
  datastores: ['id', 'url'],
  namespaces: ['datastore_id', 'id', 'name'],
  buckets: ['datastore_id', 'name', 'namespace', 'namespace_id', 'path'],
  scopes: ['bucket', 'datastore_id', 'name', 'namespace', 'namespace_id', 'path'],
  all_scopes: ['bucket', 'datastore_id', 'name', 'namespace', 'namespace_id', 'path'],
  keyspaces: ['datastore_id', 'id', 'name', 'namespace', 'namespace_id', 'path'],
  all_keyspaces: ['datastore_id', 'id', 'name', 'namespace', 'namespace_id', 'path'],
  keyspaces_info: ['count', 'id', 'name', 'path', 'size'],
  all_keyspaces_info: ['count', 'id', 'name', 'path', 'size'],
  indexes: ['datastore_id', 'id', 'index_key', 'is_primary', 'keyspace_id', 'name', 'state', 'using'],
  all_indexes: ['datastore_id', 'id', 'index_key', 'is_primary', 'keyspace_id', 'name', 'state', 'using'],
  dual: [],
  prepareds: ['encoded_plan', 'name', 'statement', 'uses'],
  functions: ['definition', 'identity'],
  functions_cache: null,
  dictionary: null,
  dictionary_cache: null,
  completed_requests: ['elapsedTime', 'requestId', 'requestTime', 'resultCount', 'state'],
  active_requests: ['elapsedTime', 'requestId', 'requestTime', 'state', 'statement'],
  user_info: ['domain', 'id', 'roles'],
  my_user_info: ['domain', 'id', 'roles'],
  nodes: ['name', 'services'],
  applicable_roles: ['grantee', 'role'],
  tasks_cache: null,
  transactions: ['id', 'timeout'],
};

test('each keyspace of the catalog has rows with the published members', async () => {
  const transaction = await node.queries.begin();
  for (const [name, members] of Object.entries(catalog)) {
    const [row] = (await rows(`SELECT t.* FROM system:${name} AS t`)) as Record<string, unknown>[];
    if (members === null) assert.equal(row, undefined, name);
    else for (const member of members) assert.ok(row && member in row, `${name} has no ${member}`);
  }
  await rows('ROLLBACK', transaction);
  assert.equal(await node.queries.code('SELECT * FROM system:nothing'), 11002);
  assert.equal(await node.queries.code('DELETE FROM system:dual'), 11003);
});

/** Members of the answer's object, or of the first item of its array. */
const administration: Readonly<Record<string, readonly string[]>> = {
  '/admin/config': ['name', 'version'],
  '/admin/clusters': ['name', 'datastore'],
  '/admin/clusters/default': ['name', 'datastore'],
  '/admin/clusters/default/nodes': ['cluster', 'name', 'queryEndpoint'],
  '/admin/vitals': [
    'uptime',
    'version',
    'cores',
    'memory.usage',
    'request.completed.count',
    'request_time.mean',
  ],
  '/admin/stats': ['requests.count', 'selects.count', 'errors.count', 'mutations.count'],
  '/admin/stats/requests': ['count'],
  '/admin/prepareds': ['name', 'statement'],
  '/admin/prepareds/p1': ['name', 'statement'],
  '/admin/active_requests': [],
  '/admin/completed_requests': [],
  '/admin/functions_cache': [],
  '/admin/indexes/functions_cache': [],
  '/admin/indexes/dictionary_cache': [],
  '/admin/indexes/tasks_cache': [],
  '/api/v1/backup': ['udfMagic', 'version', 'udfs'],
  '/api/v1/bucket/shop/backup': ['udfMagic', 'version', 'udfs'],
  '/admin/dictionary_cache': [],
  '/admin/tasks_cache': [],
  '/admin/transactions': [],
  '/admin/indexes/prepareds': [],
  '/admin/indexes/active_requests': [],
  '/admin/indexes/completed_requests': [],
  '/admin/indexes/transactions': [],
  '/admin/indexes/functions': [],
  '/admin/settings': ['completed-limit', 'prepared-limit', 'timeout', 'txtimeout'],
};

const indexPaths = [
  '/getIndexStatus',
  '/getIndexStatement',
  '/getIndexMetadata',
  '/getLocalIndexMetadata',
  '/settings',
  '/stats',
  '/api/v1/stats',
];

test('each path of the administration answers administrators only', async () => {
  for (const [path, members] of Object.entries(administration)) {
    const url = `${node.process.ready.node.query}${path}`;
    assert.equal((await fetch(url)).status, 401, path);
    assert.ok([401, 403].includes((await fetch(url, { headers: readerHeaders })).status), path);
    const answer = await fetch(url, { headers });
    assert.equal(answer.status, 200, path);
    const body = await answer.json();
    const row = Array.isArray(body) ? body[0] : body;
    for (const member of members) assert.ok(member in row, `${path} has no ${member}`);
  }
  for (const path of indexPaths) {
    const url = `${node.process.ready.node.index}${path}`;
    assert.equal((await fetch(url)).status, 401, path);
    assert.equal((await fetch(url, { headers })).status, 200, path);
  }
});

test('hints about speed are accepted as values and as strings, and other strings are refused', async () => {
  const hints = {
    max_parallelism: '2',
    pipeline_batch: '16',
    pipeline_cap: 512,
    scan_cap: '512',
    max_index_api: 4,
    use_fts: false,
    use_cbo: true,
    numatrs: '16',
    n1ql_feat_ctrl: 76,
  };
  assert.deepEqual(await rows('SELECT RAW 1', hints), [1]);
  for (const name of Object.keys(hints)) {
    const { errors } = await node.queries.ask('SELECT 1', { [name]: 'x' });
    assert.match(errors?.[0]?.msg ?? '', new RegExp(name), name);
    assert.ok([1040, 1070].includes(errors?.[0]?.code ?? 0), name);
  }
  // From this code clients conclude that the server lacks the feature that they requested.
  assert.equal(await node.queries.code('SELECT 1', { use_replica: 'on' }), 1065);
});

const refused: readonly (readonly [statement: string, code: number, text: RegExp])[] = [
  ['SELECT', 3000, /syntax error/],
  ['EXECUTE nosuch', 4040, /No such prepared statement: nosuch/],
  ['PREPARE p1 AS SELECT 2', 4060, /p1/],
  ['SELECT a FROM shop GROUP BY b', 4210, /must depend only on group keys or aggregates/],
  ['CREATE PRIMARY INDEX ON shop', 4300, /The index #primary already exists\./],
  ['CREATE INDEX r ON shop(a) WITH {"num_replica": 2}', 5000, /not enough indexer nodes/],
  ['SELECT $1', 5010, /positional parameter \$1/],
  ['SELECT ARRAY_RANGE(0, 100000000)', 5035, /Out of range evaluating ARRAY_RANGE\(\)/],
  [
    'MERGE INTO shop t USING [{"k": "k"}, {"k": "k"}] s ON KEY s.k WHEN MATCHED THEN UPDATE SET t.x = 1',
    5320,
    /'k'/,
  ],
  ['SELECT * FROM nowhere', 12003, /Keyspace not found in CB datastore: default:nowhere/],
  [
    'SELECT * FROM nowhere.s.c',
    12003,
    /^Keyspace not found in CB datastore: default:nowhere - cause: No bucket named nowhere$/,
  ],
  ['SELECT * FROM shop.s.nos', 12003, /default:shop\.s\.nos/],
  [
    'INSERT INTO shop (KEY, VALUE) VALUES ("k", 1)',
    12009,
    /^DML Error, possible causes include concurrent modification\. Failed to perform insert on key k - cause: Duplicate Key: k$/,
  ],
  ['DROP INDEX shop.nosuch', 12016, /Index Not Found/],
  ['DROP PRIMARY INDEX ON shop.s.c', 12016, /Index Not Found/],
  ['SELECT * FROM shop.nos.c', 12021, /Scope not found in CB datastore/],
  ['CREATE SCOPE shop.s', 12025, /already exists/],
  ['CREATE COLLECTION shop.s.c', 12027, /already exists/],
  ['CREATE COLLECTION shop.nos.c', 12027, /is not found/],
  ['COMMIT', 17002, /not supported outside the transaction/],
];

test('statements fail with the codes and texts from which clients choose their errors', async () => {
  for (const [statement, code, text] of refused) {
    const { errors } = await node.queries.ask(statement);
    assert.equal(errors?.[0]?.code, code, statement);
    assert.match(errors?.[0]?.msg ?? '', text);
  }
  const { errors } = (await node.queries.ask('INSERT INTO shop (KEY, VALUE) VALUES ("k", 1)')) as {
    errors?: { reason?: { code: number } }[];
  };
  assert.equal(errors?.[0]?.reason?.code, 17012);
});

test('requests within a transaction fail with the codes of transactions', async () => {
  const transaction = await node.queries.begin();
  const code = (statement: string, parameters = {}) =>
    node.queries.code(statement, { ...transaction, ...parameters });
  assert.equal(await code('BEGIN WORK'), 17002);
  assert.equal(await code('CREATE SCOPE shop.z'), 17002);
  assert.equal(await code('ROLLBACK TO SAVEPOINT nosuch'), 17009);
  assert.equal(await code('INSERT INTO shop (KEY, VALUE) VALUES ("k", 1)'), 17012);
  assert.equal(await code('EXECUTE __get', { args: ['shop', 'nosuch'] }), 17014);
  assert.equal(await code('SELECT 1', { txstmtnum: 5 }), 0);
  assert.equal(await code('SELECT 1', { txstmtnum: 5 }), 17005);
  assert.equal(await code('ROLLBACK'), 0);
  assert.equal(await code('SELECT 1'), 17004);
});
