// Malformed requests, disconnecting clients and endless statements on the query port of a real node, while a client
// of the data port must not be affected.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster, Collection } from 'couchbase';
import { type Prng, prng } from '#base/prng.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';
import { printedSeed } from '../support/seed.ts';

const seed = printedSeed(console.log);
const requests = 1_000;
const authorization = `Basic ${btoa(`${administrator.username}:${administrator.password}`)}`;
/** 10^8 rows: practically endless. */
const endlessRows = 'FROM ARRAY_RANGE(0, 10000) a, ARRAY_RANGE(0, 10000) b';

interface Answer {
  readonly status: string;
  readonly errors?: readonly { readonly code: number }[];
}

describe(`the query port under hostile input, DIVAN_SEED=${seed}`, () => {
  let node: NodeProcess;
  let cluster: Cluster;
  let collection: Collection;
  let address: URL;

  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    address = new URL(node.ready.node.query as string);
    cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    collection = cluster.bucket('b').defaultCollection();
    await collection.upsert('calm', { v: 0 });
  });
  after(async () => {
    await cluster?.close();
    await node?.[Symbol.asyncDispose]();
  });

  const post = (path: string, body: object, method = 'POST') =>
    fetch(new URL(path, address), {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: JSON.stringify(body) }),
    });
  const ask = async (body: object) => (await (await post('/query/service', body)).json()) as Answer;
  const active = async () =>
    (await (await post('/admin/active_requests', {}, 'GET')).json()) as {
      requestId: string;
      statement: string;
    }[];
  const isRunning = async (text: string) =>
    (await active()).some(({ statement }) => statement?.includes(text));

  it('answers random bytes without an internal error', async (t) => {
    const random = prng(seed);
    const statuses = new Map<number, number>();
    const failures: string[] = [];
    for (let sent = 0; sent < requests; sent += 20) {
      const batch = Array.from({ length: 20 }, () => hostileRequest(random, address.host));
      for (const text of await Promise.all(batch.map((bytes) => exchange(address, bytes))))
        for (const answer of text.split(/(?=^HTTP\/1\.1 )/m)) {
          const status = Number(answer.slice(9, 12));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (isInternalError(status, answer)) failures.push(answer);
        }
    }
    t.diagnostic([...statuses].map(([status, count]) => `${status}: ${count}`).join(', '));
    assert.deepEqual(failures, []);
    assert.ok((statuses.get(200) ?? 0) > requests * 0.02, 'hardly any request is valid');
    assert.ok((statuses.get(400) ?? 0) > requests * 0.1, 'hardly any request is refused');
    assert.equal((await ask({ statement: 'SELECT 1' })).status, 'success');
  });

  it('ends endless statements with a statement error, and serves documents meanwhile', async () => {
    const end = { isReached: false };
    const otherClient = writeAndRead(collection, end);
    const recursive = (more: string) =>
      `WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT r.n + 1 AS n FROM r${more}) SELECT COUNT(*) FROM r`;
    const numbers = 'ARRAY_RANGE(0, 30000)';
    const cases: [string, object, number][] = [
      ['SELECT REPEAT("x", 5000000000)', {}, 5035],
      ['SELECT ARRAY_RANGE(0, 5000000000)', {}, 5035],
      // src/sqlpp/values/step-limit.test.ts has other nested values.
      ['SELECT ARRAY_REPEAT(ARRAY_REPEAT(ARRAY_REPEAT(1, 30000), 30000), 30000)', {}, 5035],
      ['SELECT ARRAY_REPEAT(REPEAT("x", 30000), 30000)', {}, 5035],
      ['SELECT CONCAT2(",", ARRAY_REPEAT(REPEAT("x", 30000), 30000))', {}, 5035],
      ['SELECT REGEXP_REPLACE(REPEAT("a", 30000), "a", REPEAT("b", 30000))', {}, 5035],
      [
        `SELECT ARRAY_LENGTH(ARRAY UPPER(REPEAT(REPEAT("x", 30000), 1000)) FOR i IN ${numbers} END)`,
        {},
        5035,
      ],
      [`SELECT ANY i IN r SATISFIES (ANY j IN r SATISFIES i + j < 0 END) END LET r = ${numbers}`, {}, 5035],
      [`SELECT ANY i IN r SATISFIES i + 30001 IN r END LET r = ${numbers}`, {}, 5035],
      [recursive(''), {}, 5030],
      [recursive(', [1, 2, 3, 4] AS x'), { memory_quota: 8 }, 5500],
      [`SELECT ARRAY_AGG([a, b]) ${endlessRows.replaceAll('10000', '5000')}`, { memory_quota: 8 }, 5500],
      [`SELECT COUNT(*) ${endlessRows}, ARRAY_RANGE(0, 10000) c`, { timeout: '400ms' }, 1080],
      [`SELECT a, b ${endlessRows} ORDER BY b DESC, a`, { timeout: '800ms' }, 1080],
    ];
    for (const [statement, rest, code] of cases) {
      const { errors } = await ask({ statement, ...rest });
      assert.equal(errors?.[0]?.code, code, `${statement}: ${JSON.stringify(errors)}`);
    }
    const linear = 'SELECT RAW REGEXP_LIKE(REPEAT("a", 20000) || "b", "(a+)+c")';
    assert.equal((await ask({ statement: linear })).status, 'success');
    end.isReached = true;
    assert.ok((await otherClient) > 10, 'the client of the data port made no progress');
  });

  it('stops statements of clients that disconnect, and cancelled ones of clients that do not read', async () => {
    const body = (mark: string) =>
      JSON.stringify({ statement: `SELECT a, b, "${mark}" AS m ${endlessRows}` });
    for (const mark of ['closes', 'cancelled']) {
      const socket = connectSocket(Number(address.port), address.hostname);
      socket.on('error', () => {});
      socket.write(requestOf('/query/service', 'application/json', body(mark)));
      await once(socket, 'readable');
      await eventually(async () => assert.equal(await isRunning(mark), true));
      if (mark === 'closes') socket.destroy();
      else
        for (const { requestId, statement } of await active())
          if (statement.includes(mark)) await post(`/admin/active_requests/${requestId}`, {}, 'DELETE');
      await eventually(async () => assert.equal(await isRunning(mark), false));
      socket.destroy();
    }
  });
});

async function writeAndRead(collection: Collection, end: { isReached: boolean }): Promise<number> {
  let rounds = 0;
  for (; !end.isReached; rounds++) {
    await collection.upsert('calm', { rounds });
    assert.deepEqual((await collection.get('calm')).content, { rounds });
    // Without a pause this client would take more processor time than the statements.
    await pause(5);
  }
  return rounds;
}

const requestOf = (path: string, type: string, body: string, more = ''): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: ${type}\r\n${more}` +
  `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** The bytes that the server sends until it closes the connection. */
async function exchange({ port, hostname }: URL, bytes: Buffer): Promise<string> {
  const socket = connectSocket(Number(port), hostname);
  let text = '';
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  const closed = once(socket, 'close');
  socket.end(bytes);
  await closed;
  return text;
}

/** Status 500 is also used for errors of statements; only code 5000 is an internal error. */
const isInternalError = (status: number, answer: string): boolean =>
  status >= 500 && status !== 503 && (!/"code": ?\d/.test(answer) || /"code": ?5000\b/.test(answer));

const parameterNames = [
  'statement',
  'prepared',
  'args',
  '$a',
  '@b',
  'creds',
  'timeout',
  'scan_consistency',
  'scan_wait',
  'scan_vector',
  'scan_vectors',
  'readonly',
  'metrics',
  'signature',
  'pretty',
  'profile',
  'controls',
  'memory_quota',
  'auto_execute',
  'query_context',
  'encoded_plan',
  'txid',
  'tximplicit',
  'txtimeout',
  'txdata',
  'client_context_id',
  'n1ql_feat_ctrl',
  'durability_level',
  'max_parallelism',
  'batch_named_args',
  'error_limit',
  'kvtimeout',
  'txstmtnum',
  'use_cbo',
  'preserve_expiry',
  'atrcollection',
  'format',
  '',
  '\u0000',
];
const parameterValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1e300,
  0.5,
  Number.MAX_SAFE_INTEGER,
  '',
  ' ',
  '0',
  '-1s',
  '10',
  '1h30m',
  '1e9s',
  'request_plus',
  'at_plus',
  'off',
  'timings',
  '"',
  '`',
  '[',
  '{}',
  '\u0000',
  '\ud800',
  '$1',
  'b._default._default',
  [],
  [[]],
  [1, 'a'],
  {},
  { user: 'a' },
  [{ user: 'a', pass: 1 }],
  { 0: [1, 'x'] },
  'x'.repeat(5_000),
  'SELECT 1',
  'SELECT',
  'SELECT $a',
  'EXECUTE p',
  'SELECT * FROM b',
  "SELECT 'a",
  'INSERT INTO b VALUES',
  '((((((',
  'SELECT ?',
  'PREPARE x FROM SELECT 1',
  'EXPLAIN SELECT 1',
  'COMMIT',
  'DROP INDEX b.`a',
  '/*',
];

function hostileRequest(random: Prng, host: string): Buffer {
  const pick = <T>(from: readonly T[]): T => from[random.below(from.length)] as T;
  const fields: [string, unknown][] = [
    ['statement', 'SELECT 1'],
    ['timeout', '5s'],
  ];
  for (let left = random.below(4); left > 0; left--) {
    const name = pick(parameterNames);
    const at = fields.findIndex(([known]) => known === name);
    const field: [string, unknown] = [name, pick(parameterValues)];
    if (at < 0) fields.push(field);
    else fields[at] = field;
  }
  const form = fields
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(textOf(value))}`)
    .join('&');
  const json = JSON.stringify(Object.fromEntries(fields));
  const head = `host: ${host}\r\nauthorization: ${authorization}\r\n`;
  const jsonRequest = requestOf('/query/service', 'application/json', json);
  switch (random.below(8)) {
    case 0:
      return Buffer.from(`GET /query/service?${form} HTTP/1.1\r\n${head}\r\n`);
    case 1:
      return Buffer.from(requestOf('/query/service', 'application/x-www-form-urlencoded', form));
    case 2:
      return Buffer.from(jsonRequest + jsonRequest);
    case 3: {
      const size = pick([json.length.toString(16), 'zz', '-1', 'ffffffffffffffff', '0']);
      const body = `${size}\r\n${json}\r\n0\r\n\r\n`;
      const type = 'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
      return Buffer.from(`POST /query HTTP/1.1\r\n${head}${type}${body}`);
    }
    case 4:
      return Buffer.from(
        requestOf(
          '/query',
          pick(['text/plain', 'application/xml', 'application/json; x']),
          textOf(pick(parameterValues)),
        ),
      );
    case 5:
      return Buffer.from(requestOf('/query', 'application/json', json.slice(0, random.below(json.length))));
    default:
      return mutated(Buffer.from(jsonRequest), random);
  }
}

const textOf = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.toWellFormed();
};

/** Changes some bytes of the body. */
function mutated(bytes: Buffer, random: Prng): Buffer {
  const start = bytes.indexOf('\r\n\r\n') + 4;
  for (let left = 1 + random.below(4); left > 0; left--)
    bytes[start + random.below(bytes.length - start)] = random.below(256);
  return bytes;
}
