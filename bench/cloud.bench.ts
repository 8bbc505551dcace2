// The cloud: requests compared with constant answers of the same HTTP library, lists of a large organization in both databases, and how long
// clusters take. Goals: at least 0.6 of the rate of constant answers, 20 ms at the 99th percentile, 3 s for a cluster and 15 s for ten.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '#cloud/store/migrations.ts';
import { openPostgres } from '#cloud/store/postgres.adapter.ts';
import { openSqlite } from '#cloud/store/sqlite.adapter.ts';
import type { ClusterRow, Store } from '#cloud/store/tables.ts';
import { untilStatus } from '../test/support/cloud-cluster.ts';
import { CloudProcess } from '../test/support/cloud-process.ts';
import { needs } from '../test/support/needs.ts';
import { Postgres } from '../test/support/postgres.ts';
import { startConstantServer } from './support/constant-process.ts';
import { type Figures, load } from './support/http-load.ts';
import { residentMb } from './support/server-usage.ts';

const rateArgs = ['--rate-limit', '1000000'];
const connections = 16;
const writesPerSecond = 50;
const sortKeys = ['id', 'name', 'tenantId', 'cloudId', 'projectId', 'nodes'];

interface Size {
  clusters: number;
  projects: number;
  /** How long each measurement takes. */
  ms: number;
  /** Clusters that are created at once. */
  atOnce: number;
  /** How long nodes are idle before their memory is measured: threads collect the garbage of their start only then. */
  idleMs: number;
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const size: Size = smoke
    ? { clusters: 200, projects: 20, ms: 50, atOnce: 1, idleMs: 0 }
    : { clusters: 10_000, projects: 1_000, ms: 4_000, atOnce: 10, idleMs: 45_000 };
  await overSqlite(size);
  if (needs('postgresql') === false) await overPostgres(size);
  await clusters(size);
}

async function overSqlite(size: Size): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-bench-cloud-'));
  try {
    await fill(openSqlite(join(dataDir, 'cloud.db')).store, size);
    await requests('SQLite', { dataDir, args: rateArgs }, size);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

async function overPostgres(size: Size): Promise<void> {
  await using server = await Postgres.start();
  const url = await server.database('bench');
  await fill(openPostgres(url, () => {}).store, size);
  await requests('PostgreSQL', { args: [...rateArgs, '--database', url] }, size);
}

/** Adds rows of clusters whose home is another machine, so that the cloud does not start their nodes. */
async function fill(store: Store, { clusters: count, projects }: Size): Promise<void> {
  await migrate(store);
  await store.transaction().execute(async (transaction) => {
    for (let i = 0; i < projects; i++)
      await transaction
        .insertInto('projects')
        .values({ id: uuid('a', i), name: `project ${i % 50}`, created_at: i })
        .execute();
    const cloud = { name: 'far', provider: 'aws', region: 'x', cidr: '10.0.0.0/8', status: 'ready' };
    await transaction
      .insertInto('clouds')
      .values({ id: uuid('c', 0), ...cloud, created_at: 0 })
      .execute();
    for (let i = 0; i < count; i++)
      await transaction.insertInto('clusters').values(aRow(i, projects)).execute();
  });
  await store.destroy();
}

const uuid = (prefix: string, i: number): string =>
  `${prefix}0000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

const aRow = (i: number, projects: number): ClusterRow => ({
  id: uuid('b', i),
  environment: 'vpc',
  name: `cluster ${(i * 7919) % 5000}`,
  project_id: uuid('a', i % projects),
  cloud_id: uuid('c', 0),
  description: 'one of many',
  spec: JSON.stringify({
    servers: [{ size: 1, services: ['data'], memoryGib: 16, asked: {} }],
    support: null,
  }),
  node_count: 1 + (i % 27),
  phase: 'ready',
  home: 'elsewhere',
  administrator_sealed: '',
  certificate: null,
  created_at: i,
  updated_at: i,
  deployed_at: i,
});

async function requests(
  database: string,
  settings: { dataDir?: string; args: string[] },
  size: Size,
): Promise<void> {
  await using cloud = await CloudProcess.start(settings);
  const { token, api } = cloud.ready;
  const authorization = `Bearer ${token}`;
  await using constant = await startConstantServer();
  for (const path of ['/v2/status', '/v2/projects', '/v2/clusters', '/v3/clusters']) {
    const figuresOf = (url: URL): Promise<Figures> => load({ url, authorization, connections, ms: size.ms });
    await load({ url: new URL(path, api), authorization, connections, ms: size.ms / 4 });
    const own = await figuresOf(new URL(path, api));
    const { perSecond } = await figuresOf(new URL(`/constant?bytes=${own.bytes}`, constant.url));
    console.log(
      `${database}: GET ${path} ${own.perSecond.toFixed(0)}/s, ${own.bytes} bytes: ${(own.perSecond / perSecond).toFixed(2)} of a constant (goal 0.6)`,
    );
  }
  await listsDuringWrites(database, cloud, size);
  let i = 0;
  const next = (): string => {
    // Twelve orders, ten sizes, a hundred pages: each is requested once, since the cloud caches answers.
    i++;
    const sort = `${sortKeys[i % 6]}.${i % 12 < 6 ? 'asc' : 'desc'}`;
    const perPage = 100 - (Math.floor(i / 12) % 10);
    const page = 1 + ((Math.floor(i / 120) * 37) % Math.ceil(size.clusters / 100));
    return `/v2/clusters?perPage=${perPage}&page=${page}&sortBy=${sort}`;
  };
  const pages = await load({ url: new URL(api), authorization, next, connections: 1, ms: size.ms });
  console.log(
    `${database}: pages of about 100 of ${size.clusters} clusters in any order, none cached: ${pages.p50Ms.toFixed(1)} ms, p99 ${pages.p99Ms.toFixed(1)} ms (goal 20)`,
  );
}

/** Reads a list while clusters are changed: each change invalidates the cloud's cache. */
async function listsDuringWrites(database: string, { ready: { api, token } }: CloudProcess, size: Size) {
  const authorization = `Bearer ${token}`;
  const path = `/v3/clusters/${uuid('b', 0)}/meta`;
  let [isOn, writes, slowestMs] = [true, 0, 0];
  const startedMs = performance.now();
  const writer = async (): Promise<void> => {
    for (; isOn; writes++) {
      const sentMs = performance.now();
      const body = JSON.stringify({ description: `written ${writes}` });
      const headers = { authorization, 'content-type': 'application/json' };
      const { status } = await fetch(new URL(path, api), { method: 'PUT', headers, body });
      if (status !== 204) throw new Error(`${path}: ${status}`);
      slowestMs = Math.max(slowestMs, performance.now() - sentMs);
      const due = startedMs + (writes + 1) * (1000 / writesPerSecond);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    }
  };
  const written = writer();
  const lists = await load({ url: new URL('/v2/clusters', api), authorization, connections, ms: size.ms });
  isOn = false;
  const perSecond = (writes / (performance.now() - startedMs)) * 1000;
  await written;
  console.log(
    `${database}: GET /v2/clusters ${lists.perSecond.toFixed(0)}/s, p99 ${lists.p99Ms.toFixed(1)} ms, during ${perSecond.toFixed(0)} writes a second, the slowest ${slowestMs.toFixed(0)} ms`,
  );
}

async function clusters({ atOnce, idleMs }: Size): Promise<void> {
  await using cloud = await CloudProcess.start();
  const projectId = (await cloud.request('POST', '/v2/projects', { name: 'bench' })).body.id;
  const cloudId = (await cloud.request('GET', '/v2/clouds')).body.data[0].id;
  const seconds = async (name: string): Promise<string> => {
    const startedMs = performance.now();
    const { headers } = await cloud.request('POST', '/v2/clusters', { name, cloudId, projectId });
    await untilStatus(cloud, headers.get('location') as string, 'ready');
    return ((performance.now() - startedMs) / 1000).toFixed(1);
  };
  const one = await seconds('one');
  const many = await Promise.all(Array.from({ length: atOnce }, (_, i) => seconds(`many-${i}`)));
  console.log(
    `a cluster: ${one} s from POST to ready (goal 3); ${atOnce} at once: ${Math.max(...many.map(Number))} s (goal 15)`,
  );
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const memory = cloud
    .nodePids()
    .map(residentMb)
    .sort((a, b) => a - b);
  console.log(
    `idle nodes: ${memory[0]?.toFixed(0)} to ${memory.at(-1)?.toFixed(0)} MB (goal 120); the cloud itself: ${residentMb(cloud.pid).toFixed(0)} MB`,
  );
}
