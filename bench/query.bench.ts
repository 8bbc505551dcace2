// Queries of a node compared with a PostgreSQL that has the same rows as JSONB, in the same run: operations per second of
// processor time of the server, and latencies.
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { administrator, NodeProcess } from '../test/support/node-process.ts';
import { Postgres, postgresPrograms } from '../test/support/postgres.ts';
import { compared, latencyText, type Sides, warmUp } from './support/compared.ts';
import { accessOf, hotel, indexStatements, streamChanges, writeHotels } from './support/hotels.ts';
import { builds, changesOfKeys, writeRows } from './support/index-figures.ts';
import { QueryConnection } from './support/query-connection.ts';
import { peakMb, resetPeak, residentMb } from './support/server-usage.ts';

const keyspace = 'b._default._default';
/** Connections with one request each at a time. */
const connections = 16;
/**
 * Until about 13,000 requests have run, V8 compiles: that takes 50 to 370 µs of processor time for each. Servers run compiled code nearly
 * all the time, so the measurements begin after that; the first requests have a line of their own.
 */
const warmUpTimes = 15_000;
const warmUpMsMax = 90_000;
const rangeWarmUpTimes = 200;
const pointText = "select doc->>'name' as name, doc->>'city' as city from docs where (doc->>'n')::int = $1";

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const count = smoke ? 2_000 : 200_000;
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  await using peer = await startPeer(count);
  await node.request('/pools/default/buckets/b', 'POST', { ramQuotaMB: '1024' });
  await writeHotels(node, count);
  const client = await QueryConnection.open(node.ready.node.query as string, administrator);
  for (const statement of indexStatements(keyspace)) await client.run({ statement });
  const sides: Sides = {
    node: { name: 'here', pid: node.pid },
    peer: peer && { name: 'PostgreSQL', pid: peer.server.pid },
  };
  await points(sides, client, peer?.client ?? null, smoke);
  await pointsAtOnce(sides, node, peer?.server ?? null, smoke);
  await scans(sides, client, peer?.client ?? null, count, smoke);
  await collectionScan(sides, node, client, peer?.client ?? null, count);
  await freshReads(client, smoke ? 5 : 300);
  await changesOfKeys(sides, client, peer?.client ?? null, smoke ? 20 : 200);
  await builds(smoke);
  await shortDuringLong(node, client, smoke ? 0.2 : 5);
  await memory(node, client, count, smoke ? 0 : untilCollectedMs);
  client.close();
  await peer?.client.end();
  if (!smoke) await idle();
}

/** A PostgreSQL with the rows and indexes; null if it is not installed. */
async function startPeer(count: number) {
  if (postgresPrograms() === null) {
    console.log('PostgreSQL is not installed: only this node is measured');
    return null;
  }
  const server = await Postgres.start();
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await writeRows(client, count);
  await client.query("create index on docs (((doc->>'n')::int))");
  await client.query("create index on docs ((doc->>'city') collate \"C\", ((doc->>'n')::int))");
  await client.query('vacuum analyze docs');
  return { server, client, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Short statements: as a process runs its first ones, and once V8 has compiled them. */
async function points(sides: Sides, client: QueryConnection, peer: pg.Client | null, smoke: boolean) {
  const point = {
    here: (round: number) => client.run({ prepared: 'point', $n: pointAt(round) }),
    there: (round: number) => peer?.query({ name: 'point', text: pointText, values: [pointAt(round)] }),
  };
  const statement = `SELECT d.name, d.city FROM ${keyspace} d WHERE d.n = $n`;
  await client.run({ statement: `PREPARE FORCE point FROM ${statement}` });
  await compared(
    'point query, prepared, the first ones of a process',
    { sides, rounds: smoke ? 40 : 2_000, latencyGoal: '', isCold: true, countsThreads: true },
    point.here,
    point.there,
  );
  const keyAt = (round: number): string => `hotel_${(round * 31) % 2_000}`;
  const keyText = "select doc->>'name' as name from docs where id = $1";
  const byKey = {
    here: (round: number) => client.run({ prepared: 'by_key', $key: keyAt(round) }),
    there: (round: number) => peer?.query({ name: 'key', text: keyText, values: [keyAt(round)] }),
  };
  const keys = `SELECT d.name FROM ${keyspace} d USE KEYS $key`;
  await client.run({ statement: `PREPARE FORCE by_key FROM ${keys}` });
  await warmUp(
    [point, byKey].flatMap(({ here, there }) => [here, there]),
    smoke ? { times: 40, msMax: warmUpMsMax } : { times: warmUpTimes, msMax: warmUpMsMax },
  );
  const rounds = smoke ? 20 : 6_000;
  await compared(
    'point query, prepared',
    { sides, rounds, goal: 0.3, latencyGoal: 'goal 0.6 ms median, 4 ms at 99 %', countsThreads: true },
    point.here,
    point.there,
  );
  await compared(
    'USE KEYS, prepared (goal 10,000)',
    { sides, rounds, latencyGoal: '', countsThreads: true },
    byKey.here,
    byKey.there,
  );
}

/** The value of `n` that a point query looks up. */
const pointAt = (round: number): number => hotel((round * 31) % 2_000).body.n;

/** One query at a time measures the wake-ups of threads and processes as well; many at a time hardly do. */
async function pointsAtOnce(sides: Sides, node: NodeProcess, peer: Postgres | null, smoke: boolean) {
  const all = Array.from({ length: connections });
  const clients = await Promise.all(
    all.map(() => QueryConnection.open(node.ready.node.query as string, administrator)),
  );
  const peerClients = peer === null ? [] : all.map(() => new pg.Client({ connectionString: peer.url }));
  for (const peerClient of peerClients) await peerClient.connect();
  const values = (round: number): number[] => all.map((_, at) => pointAt(round * connections + at));
  await compared(
    `point query, prepared, ${connections} connections`,
    { sides, rounds: smoke ? 4 : 400, each: connections, goal: 0.3, countsThreads: true },
    (round) =>
      Promise.all(values(round).map((value, at) => clients[at]?.run({ prepared: 'point', $n: value }))),
    (round) =>
      Promise.all(
        values(round).map((value, at) =>
          peerClients[at]?.query({ name: 'point', text: pointText, values: [value] }),
        ),
      ),
  );
  for (const client of clients) client.close();
  for (const peerClient of peerClients) await peerClient.end();
}

async function scans(
  sides: Sides,
  client: QueryConnection,
  peer: pg.Client | null,
  count: number,
  smoke: boolean,
) {
  const rounds = 5;
  await ranges(sides, client, peer, count, smoke);
  await compared(
    'group by, count and average over everything',
    { sides, rounds: 3, each: count, goal: 1 },
    () =>
      client.run({ statement: `SELECT d.kind, COUNT(*) c, AVG(d.n) a FROM ${keyspace} d GROUP BY d.kind` }),
    () => peer?.query("select doc->>'kind', count(*), avg((doc->>'n')::int) from docs group by doc->>'kind'"),
  );
  const cities = `FROM ${keyspace} d WHERE d.city >= 'City 1' AND d.city < 'City 2'`;
  const covered = Number((await client.rows({ statement: `SELECT RAW COUNT(*) ${cities}` }))[0]);
  await compared(
    `covering range of ${covered} rows (goal 400,000)`,
    { sides, rounds, each: covered },
    () => client.run({ statement: `SELECT d.city, d.n ${cities}` }),
    () =>
      peer?.query(
        `select doc->>'city', (doc->>'n')::int from docs
         where doc->>'city' collate "C" >= 'City 1' and doc->>'city' collate "C" < 'City 2'`,
      ),
  );
}

/** As with short statements: V8 compiles until about 150 of these queries, three million rows, have run. */
async function ranges(
  sides: Sides,
  client: QueryConnection,
  peer: pg.Client | null,
  count: number,
  smoke: boolean,
) {
  const width = Math.min(20_000, count / 2);
  const low = (round: number): number => (round * 7_919) % 900_000;
  const span = Math.floor((width / count) * 1_000_003);
  const onNode = (round: number) =>
    client.run({
      statement: `SELECT d.name, d.city FROM ${keyspace} d WHERE d.n BETWEEN $a AND $b AND d.free = true`,
      $a: low(round),
      $b: low(round) + span,
    });
  const onPeer = (round: number) =>
    peer?.query(
      "select doc->>'name', doc->>'city' from docs where (doc->>'n')::int between $1 and $2 and (doc->>'free')::bool",
      [low(round), low(round) + span],
    );
  const what = `range of ${width} rows, fetch, filter, two fields`;
  const figures = { sides, each: width };
  await compared(
    `${what}, the first ones of a process`,
    { ...figures, rounds: smoke ? 4 : 20, isCold: true },
    onNode,
    onPeer,
  );
  await warmUp([onNode, onPeer], { times: smoke ? 2 : rangeWarmUpTimes, msMax: warmUpMsMax });
  await compared(what, { ...figures, rounds: smoke ? 4 : 60, goal: 0.5 }, onNode, onPeer);
}

async function collectionScan(
  sides: Sides,
  node: NodeProcess,
  client: QueryConnection,
  peer: pg.Client | null,
  count: number,
) {
  const alone = { sides: { ...sides, peer: null }, rounds: 3, each: count };
  const stream = await compared('streams of the data port', alone, () =>
    streamChanges(accessOf(node), count),
  );
  const scan = await compared(
    'scan of the collection, filter on one field',
    { sides, rounds: 3, each: count },
    () => client.run({ statement: `SELECT d.name FROM ${keyspace} d WHERE d.address.zip = '17'` }),
    () => peer?.query("select doc->>'name' from docs where doc->'address'->>'zip' = '17'"),
  );
  console.log(`  ${(scan / stream).toFixed(2)} of the streams (goal 0.5)`);
}

async function freshReads(client: QueryConnection, rounds: number) {
  const statement = `SELECT d.name FROM ${keyspace} d WHERE d.n = $n`;
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await client.run({
      statement: `UPSERT INTO ${keyspace} VALUES ($k, {"n": $n, "name": "x"})`,
      $k: 'fresh',
      $n: -round,
    });
    const startedMs = performance.now();
    await client.run({ statement, $n: -round, scan_consistency: 'request_plus' });
    times.push(performance.now() - startedMs);
  }
  console.log(`request_plus right after a write: ${latencyText(times)} (goal 5 ms median, 25 ms at 99 %)`);
}

/** Short queries while a long one runs. */
async function shortDuringLong(node: NodeProcess, client: QueryConnection, seconds: number) {
  const other = await QueryConnection.open(node.ready.node.query as string, administrator);
  const long = `SELECT d.city, COUNT(*) c FROM ${keyspace} d GROUP BY d.city`;
  let isLong = true;
  const slow = (async () => {
    while (isLong) await other.run({ statement: long });
  })();
  const times: number[] = [];
  const untilMs = performance.now() + seconds * 1_000;
  while (performance.now() < untilMs) {
    const startedMs = performance.now();
    await client.run({ prepared: 'by_key', $key: 'hotel_1' });
    times.push(performance.now() - startedMs);
    await wait(5);
  }
  isLong = false;
  await slow;
  other.close();
  console.log(`USE KEYS beside a long query: ${latencyText(times)} (goal 10 ms median)`);
}

/** How long a node has after a statement to collect its garbage. */
const untilCollectedMs = 2_000;
/** After this time without requests, the threads of a node have collected their garbage and released the memory. */
const untilIdleMs = 35_000;

async function memory(node: NodeProcess, client: QueryConnection, count: number, waitMs: number) {
  const fivefold = `FROM ${keyspace} d UNNEST [1, 2, 3, 4, 5] AS t`;
  for (const [what, statement] of [
    ['rows answered', `SELECT d.name, t ${fivefold}`],
    ['rows sorted', `SELECT d.name, t ${fivefold} ORDER BY t, d.name`],
    ['distinct rows', `SELECT DISTINCT d.name, t ${fivefold}`],
    ['groups', `SELECT d.name, t, COUNT(*) ${fivefold} GROUP BY d.name, t`],
  ] as const) {
    await wait(waitMs);
    const residentBeforeMb = residentMb(node.pid);
    resetPeak(node.pid);
    await client.run({ statement });
    const moreMb = peakMb(node.pid) - residentBeforeMb;
    console.log(`${(5 * count).toLocaleString('en')} ${what}: at most ${moreMb.toFixed(0)} MB more resident`);
  }
}

async function idle() {
  const resident: number[] = [];
  for (const services of ['kv', 'kv,index,n1ql']) {
    await using node = await NodeProcess.start({ args: ['--bucket', 'b', '--services', services] });
    await wait(untilIdleMs);
    resident.push(residentMb(node.pid));
  }
  const [without = 0, having = 0] = resident;
  console.log(
    `idle: ${without.toFixed(0)} MB, with the services ${(having - without).toFixed(0)} MB more (goal 16)`,
  );
}
