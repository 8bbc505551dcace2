// Everything that comes and goes on a node comes and goes again and again: clients that leave in the middle of a request, streams, buckets
// with collections, documents and indexes, users, sessions, statements, transactions, replications and backups. Names differ in each round.
// After a round the node holds what it held before, so that what grows from round to round is a leak: memory, threads, file handles, files.
// `node test/stress/soak.ts [minutes]`, default 30.

import { randomUUID } from 'node:crypto';
import { globSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ChangeConnection } from '#client/change-connection.ts';
import { encodeRequest } from '#wire/output.ts';
import { HeapReports } from '../../bench/support/thread-heaps.ts';
import { dataAddress, portNumber } from '../support/addresses.ts';
import { BackupApi, self } from '../support/backup-api.ts';
import { dataClient, get, majority, set } from '../support/data-client.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';
import { bodyOf, createReplication, metaWrites, referenceTo } from '../support/xdcr.ts';

interface Soaked {
  readonly here: NodeProcess;
  /** The target of the replications. */
  readonly there: NodeProcess;
  readonly round: number;
}

async function clientsLeave({ here }: Soaked): Promise<void> {
  const clients = await Promise.all(Array.from({ length: 20 }, () => dataClient(here)));
  for (const [index, client] of clients.entries()) {
    await client.ask(set(`key ${index}`, 'value', index % 2 === 0 ? { framing: majority } : {}));
    client.send(...Array.from({ length: 100 }, () => get('key 1')));
    client.close();
  }
  const halves = await Promise.all(
    Array.from({ length: 20 }, () => connected(portNumber(here.ready.node.kv))),
  );
  for (const socket of halves) {
    socket.write(encodeRequest(set('half', 'v'.repeat(5000))).subarray(0, 2000));
    await pause(1);
    socket.destroy();
  }
  const rest = await Promise.all(
    Array.from({ length: 20 }, () => connected(portNumber(here.ready.node.rest))),
  );
  for (const socket of rest) {
    socket.write('POST /pools/default/buckets HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nname=');
    await pause(1);
    socket.destroy();
  }
}

function connected(port: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect(port, '127.0.0.1', () => resolve(socket));
  socket.on('error', reject);
  return promise;
}

async function streamsLeave({ here }: Soaked): Promise<void> {
  for (let count = 0; count < 3; count++) {
    const connection = await ChangeConnection.open({
      address: dataAddress(here),
      account: administrator,
      bucket: 'b',
      name: `soak ${randomUUID()}`,
      withXattrs: true,
      handler: {
        opened() {},
        change() {},
        snapshot() {},
        advanced() {},
        event() {},
        ended() {},
        drained() {},
      },
    });
    const from = { uuid: 0n, seqno: 0, snapshotStart: 0, snapshotEnd: 0 };
    await Promise.all(Array.from({ length: 200 }, (_, vb) => connection.request(vb, { from })));
    connection.close();
  }
}

async function bucketComes({ here, there, round }: Soaked): Promise<void> {
  const name = `bucket-${round}`;
  const fields = { name, ramQuotaMB: '100', replicaNumber: '0', flushEnabled: '1' };
  await accepted(here, '/pools/default/buckets', 'POST', fields, 202);
  const scopes = `/pools/default/buckets/${name}/scopes`;
  await accepted(here, scopes, 'POST', { name: 's' });
  await accepted(here, `${scopes}/s/collections`, 'POST', { name: `c${round}` });
  const query = new QueryClient(here.ready.node.query as string);
  const keyspace = `\`${name}\`.s.c${round}`;
  await eventually(() => query.rows(`CREATE INDEX i${round} ON ${keyspace}(a)`));
  await query.rows(
    `INSERT INTO ${keyspace} (KEY UUID(), VALUE {"a": n}) SELECT n FROM ARRAY_RANGE(0, 500) n`,
  );
  await query.rows(`SELECT COUNT(*) FROM ${keyspace} WHERE a > 3`, { scan_consistency: 'request_plus' });
  await query.rows(`UPDATE STATISTICS FOR ${keyspace}(a)`);
  const before = await metaWrites(there);
  await accepted(here, '/pools/default/remoteClusters', 'POST', referenceTo(there));
  const client = await dataClient(here, name);
  for (let key = 0; key < 100; key++) await client.ask(set(`${round} ${key}`, 'v'));
  await createReplication(here, { fromBucket: name, collectionsExplicitMapping: 'false' });
  await eventually(async () => {
    if ((await metaWrites(there)) < before + 100) throw new Error('documents are missing at the target');
  });
  client.close();
  const [task] = (
    (await here.request('/pools/default/tasks').then(bodyOf)) as { type: string; cancelURI: string }[]
  ).filter(({ type }) => type === 'xdcr');
  // In other rounds the replication ends with its bucket.
  if (round % 2 === 0) {
    await accepted(here, task?.cancelURI ?? '', 'DELETE');
    await accepted(here, `/pools/default/buckets/${name}/controller/doFlush`, 'POST');
  }
  await accepted(here, `/pools/default/buckets/${name}/controller/compactBucket`, 'POST');
  await accepted(here, `/pools/default/buckets/${name}`, 'DELETE');
  await eventually(() => accepted(here, '/pools/default/remoteClusters/there', 'DELETE'));
}

async function accepted(
  node: NodeProcess,
  path: string,
  method: string,
  fields?: Record<string, string>,
  status = 200,
): Promise<void> {
  const answer = await node.request(path, method, fields);
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
}

async function usersCome({ here, round }: Soaked): Promise<void> {
  const group = `/settings/rbac/groups/group-${round}`;
  const user = `/settings/rbac/users/local/user-${round}`;
  await accepted(here, group, 'PUT', { roles: 'data_reader[b]' });
  await accepted(here, user, 'PUT', {
    password: 'password',
    groups: `group-${round}`,
    roles: 'query_select[b]',
  });
  const query = new QueryClient(here.ready.node.query as string, {
    username: `user-${round}`,
    password: 'password',
  });
  await eventually(() => query.rows('SELECT COUNT(*) FROM b'));
  await query.code('DELETE FROM b');
  for (let count = 0; count < 5; count++)
    await fetch(`${here.ready.node.rest}/pools/default`, {
      headers: { authorization: `Basic ${btoa(`stranger-${round}-${count}:wrong`)}` },
    }).then((answer) => answer.text());
  for (let count = 0; count < 5; count++) {
    const login = await here.request('/uilogin', 'POST');
    await login.text();
    const cookie = login.headers
      .getSetCookie()
      .map((text) => text.split(';')[0])
      .join('; ');
    if (count > 0)
      await fetch(`${here.ready.node.rest}/uilogout`, {
        method: 'POST',
        headers: { cookie, 'ns-server-ui': 'yes' },
      }).then((a) => a.text());
  }
  await accepted(here, user, 'DELETE');
  await accepted(here, group, 'DELETE');
}

async function statementsRun({ here, round }: Soaked): Promise<void> {
  const query = new QueryClient(here.ready.node.query as string);
  for (let count = 0; count < 50; count++) {
    await query.rows(
      `SELECT ${round} AS r, ${count} AS c, META(d).id FROM b d WHERE d.x${round} = ${count} LIMIT 1`,
    );
    await query.code(`SELECT FROM ${round}${count}`);
  }
  for (let count = 0; count < 10; count++)
    await query.rows(`PREPARE p_${round}_${count} AS SELECT ${round} + ${count} FROM b`);
  for (let count = 0; count < 10; count++) await query.rows(`EXECUTE p_${round}_${count}`);
  await query.rows(`DELETE FROM system:prepareds WHERE name LIKE "p\\\\_${round}\\\\_%"`);
  await query.code('SELECT COUNT(*) FROM ARRAY_RANGE(0, 3000) a UNNEST ARRAY_RANGE(0, 3000) b', {
    timeout: '50ms',
  });
  const leaving = Array.from({ length: 10 }, async () => {
    const { username, password } = administrator;
    await fetch(`${here.ready.node.query}/query/service`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(`${username}:${password}`)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        statement: 'SELECT a FROM ARRAY_RANGE(0, 500000) a UNNEST ARRAY_RANGE(0, 10) b',
      }),
      signal: AbortSignal.timeout(100),
    })
      .then((answer) => answer.text())
      .catch(() => {}); // this client leaves
  });
  await Promise.all(leaving);
  const transaction = await query.begin();
  await query.rows(`UPSERT INTO b VALUES ("t${round % 10}", {"round": ${round}})`, transaction);
  await query.rows(round % 2 === 0 ? 'COMMIT' : 'ROLLBACK', transaction);
  const lost = await query.begin({ txtimeout: '2s' });
  await query.rows(`UPSERT INTO b VALUES ("lost ${round % 10}", {})`, lost);
}

async function backupRuns({ here, round }: Soaked): Promise<void> {
  const api = new BackupApi(here);
  const archive = join(here.dataDir, 'backups', `archive-${round}`);
  const id = `repository-${round}`;
  await api.json('POST', `${self}/active/${id}`, { plan: '_daily_backups', archive });
  const backup = await api.run(id, 'backup', { full_backup: true });
  if (backup.status !== 'done') throw new Error(`backup: ${backup.error}`);
  await api.json('POST', `${self}/active/${id}/archive`, { id });
  await api.json('DELETE', `${self}/archived/${id}?remove_repository=true`);
  rmSync(archive, { recursive: true, force: true });
}

async function settingsChange({ here, round }: Soaked): Promise<void> {
  await accepted(here, '/settings/alerts', 'POST', { enabled: 'false' });
  await accepted(here, '/pools/default/buckets/b', 'POST', { ramQuotaMB: String(100 + (round % 2)) });
  for (let count = 0; count < 20; count++) {
    await here.request(`/pools/default/buckets/none-${round}-${count}`).then((answer) => answer.text());
    await here.request(`/none/${round}/${count}`).then((answer) => answer.text());
  }
  await here.request('/pools/default/stats/range/kv_ops?start=-600&step=10').then((answer) => answer.text());
  await here.request('/metrics').then((answer) => answer.text());
}

const steps = [clientsLeave, streamsLeave, bucketComes, usersCome, statementsRun, backupRuns, settingsChange];

/** What a node holds; the files are those of its data folder. */
interface Held {
  readonly residentMb: number;
  /** Used heap by thread. */
  readonly heapsMb: Record<string, number>;
  readonly threads: number;
  readonly handles: number;
  readonly files: number;
}

async function held(node: NodeProcess, reports: HeapReports): Promise<Held> {
  const status = readFileSync(`/proc/${node.pid}/status`, 'utf8');
  const figure = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  const heaps = await reports.of(node);
  return {
    residentMb: Math.round(figure('VmRSS') / 1024),
    heapsMb: Object.fromEntries(
      heaps.map(({ thread, usedBytes }) => [thread, Math.round(usedBytes / 2 ** 18) / 4]),
    ),
    threads: figure('Threads'),
    handles: readdirSync(`/proc/${node.pid}/fd`).length,
    files: globSync('**/*', { cwd: node.dataDir }).length,
  };
}

/** A node that is idle for so long gives up its spare memory. */
const settleMs = 15_000;
const roundsPerReport = 10;

async function soak(minutes: number): Promise<void> {
  const args = ['--services', 'kv,index,n1ql,backup', '--bucket', 'b'];
  using reports = new HeapReports();
  await using here = await NodeProcess.start({ args, environment: reports.environment });
  await using there = await NodeProcess.start({ args: ['--bucket', 'b'], environment: reports.environment });
  const endMs = performance.now() + minutes * 60_000;
  for (let round = 1; performance.now() < endMs; round++) {
    for (const step of steps) await step({ here, there, round });
    if (round % roundsPerReport !== 0) continue;
    await pause(settleMs);
    for (const [name, node] of Object.entries({ here, there }))
      console.log(`round ${round}, ${name}: ${JSON.stringify(await held(node, reports))}`);
  }
}

if (import.meta.main) await soak(Number(process.argv[2] ?? 30));
