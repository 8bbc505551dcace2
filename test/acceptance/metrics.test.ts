// Metrics compared with the counts of clients, and collected by Prometheus.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Cluster } from 'couchbase';
import { Status } from '#wire/status.ts';
import { metricOf } from '../../src/metrics/catalog.ts';
import { dataClient, get, set } from '../support/data-client.ts';
import { freePort } from '../support/free-port.ts';
import { needs } from '../support/needs.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

/** Names that dashboards and the published exporter read, though promtool would choose others. */
const published = new Set([
  'kv_auth_cmds',
  'kv_auth_errors',
  'kv_collection_item_count',
  'kv_collection_ops',
  'kv_dcp_connection_count',
  'kv_ep_active_ahead_exceptions',
  'kv_ep_active_behind_exceptions',
  'kv_ep_active_hlc_drift_count',
  'kv_ep_active_hlc_drift_seconds',
  'kv_ep_clock_cas_drift_threshold_exceeded',
  'kv_ep_replica_ahead_exceptions',
  'kv_ep_replica_behind_exceptions',
  'kv_ep_replica_hlc_drift_count',
  'kv_ep_replica_hlc_drift_seconds',
  'kv_ep_bg_fetched',
  'kv_ep_diskqueue_drain',
  'kv_ep_diskqueue_fill',
  'kv_ep_item_commit_failed',
  'kv_ep_item_compressor_num_compressed',
  'kv_ep_item_compressor_num_visited',
  'kv_ep_num_value_ejects',
  'kv_ep_oom_errors',
  'kv_ep_tmp_oom_errors',
  'kv_lock_errors',
  'kv_ops',
  'kv_ops_failed',
  'kv_read_bytes',
  'kv_rejected_conns',
  'kv_total_connections',
  'kv_vb_eject',
  'kv_vb_expired',
  'kv_written_bytes',
  'n1ql_at_plus',
  'n1ql_cancelled',
  'n1ql_deletes',
  'n1ql_errors',
  'n1ql_index_scans',
  'n1ql_inserts',
  'n1ql_invalid_requests',
  'n1ql_mutations',
  'n1ql_prepared',
  'n1ql_primary_scans',
  'n1ql_request_time',
  'n1ql_requests',
  'n1ql_requests_1000ms',
  'n1ql_requests_250ms',
  'n1ql_requests_5000ms',
  'n1ql_requests_500ms',
  'n1ql_result_count',
  'n1ql_result_size',
  'n1ql_scan_plus',
  'n1ql_selects',
  'n1ql_service_time',
  'n1ql_transactions',
  'n1ql_unbounded',
  'n1ql_updates',
  'n1ql_warnings',
  'sys_allocstall',
  'sys_mem_total',
  'sys_swap_total',
  'sysproc_major_faults_raw',
  'sysproc_minor_faults_raw',
  'sysproc_page_faults_raw',
]);
const aboutNames = /metrics should(?: not)? have "_(?:total|count)" suffix/;

const exported = async (node: NodeProcess): Promise<string> => (await node.request('/metrics')).text();

/** The value of a sample by its name and labels: `kv_ops{bucket="b",op="set"}`. */
async function figureOf(node: NodeProcess, sample: string): Promise<number> {
  const line = (await exported(node)).split('\n').find((candidate) => candidate.startsWith(`${sample} `));
  assert.ok(line, sample);
  return Number(line.slice(sample.length));
}

const operations = {
  hits: 'kv_ops{bucket="b",op="get",result="hit"}',
  misses: 'kv_ops{bucket="b",op="get",result="miss"}',
  sets: 'kv_ops{bucket="b",op="set"}',
  deletes: 'kv_ops{bucket="b",op="delete",result="hit"}',
};

/** How many of these operations the node has counted. */
async function counted(node: NodeProcess): Promise<Record<keyof typeof operations, number>> {
  const values = Object.entries(operations).map(async ([name, sample]) => [
    name,
    await figureOf(node, sample),
  ]);
  return Object.fromEntries(await Promise.all(values));
}

/** By how much the counts have grown. */
function grown(from: Record<string, number>, to: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.keys(to).map((name) => [name, (to[name] as number) - (from[name] as number)]),
  );
}

describe('metrics of a node', () => {
  let node: NodeProcess;
  let cluster: Cluster;

  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    await eventually(() => cluster.bucket('b').defaultCollection().upsert('warm', {}));
  });

  after(async () => {
    await cluster?.close();
    await node?.[Symbol.asyncDispose]();
  });

  test('count the operations of the official SDK', async () => {
    const collection = cluster.bucket('b').defaultCollection();
    const start = await counted(node);
    for (let i = 0; i < 30; i++) await collection.upsert(`k${i}`, { i });
    for (let i = 0; i < 70; i++) await collection.get(`k${i % 30}`);
    for (let i = 0; i < 5; i++) await collection.get('missing').catch(() => {});
    for (let i = 0; i < 4; i++) await collection.remove(`k${i}`);
    assert.deepEqual(grown(start, await counted(node)), { hits: 70, misses: 5, sets: 30, deletes: 4 });
  });

  test('count the operations of a wire client, also by collection, and the documents', async () => {
    const client = await dataClient(node);
    const [sets, gets] = [500, 2000];
    const inCollection = 'kv_collection_ops{bucket="b",scope="_default",collection="_default",op="store"}';
    const [start, stored] = [await counted(node), await figureOf(node, inCollection)];
    for (let i = 0; i < sets; i++) client.send(set(`raw${i}`, '1'));
    for (let i = 0; i < gets; i++) client.send(get(`raw${i % sets}`));
    for (let i = 0; i < sets + gets; i++) assert.equal((await client.next())?.status, Status.success);
    client.close();
    assert.deepEqual(grown(start, await counted(node)), { hits: gets, misses: 0, sets, deletes: 0 });
    assert.equal((await figureOf(node, inCollection)) - stored, sets);
    const items = await figureOf(node, 'kv_curr_items{bucket="b"}');
    const { basicStats } = (await (await node.request('/pools/default/buckets/b')).json()) as {
      basicStats: { itemCount: number };
    };
    assert.equal(items, basicStats.itemCount);
  });

  test('rates per second add up to the operations', async () => {
    const collection = cluster.bucket('b').defaultCollection();
    const series = async () => {
      const answer = await node.request('/pools/default/buckets/b/stats/cmd_set');
      return (await answer.json()) as { timestamp: number[]; nodeStats: Record<string, number[]> };
    };
    const sampledAfter = (time: number) =>
      eventually(async () => assert.ok(((await series()).timestamp.at(-1) ?? 0) > time));
    // On a busy machine the sampler may miss seconds, and a rate that covers them is shown at one of them: then the check is repeated.
    await eventually(async () => {
      await sampledAfter(Date.now() + 1_000);
      const start = Date.now();
      for (let i = 0; i < 123; i++) await collection.upsert('k', { i });
      await sampledAfter(Date.now() + 1_000);
      const { timestamp, nodeStats } = await series();
      const rates = Object.values(nodeStats)[0] as number[];
      const isAfter = (at: number): boolean => (timestamp[at] as number) > start;
      const sum = rates.reduce((total, rate, at) => total + (isAfter(at) ? rate : 0), 0);
      assert.ok(Math.abs(sum - 123) < 0.5, `${sum}`);
    });
  });

  test('restart at zero with the node', async () => {
    await using first = await NodeProcess.start({ args: ['--bucket', 'b'] });
    const client = await dataClient(first);
    const [setsBefore, otherSetsMax] = [20, 5];
    for (let i = 0; i < setsBefore; i++)
      assert.equal((await client.ask(set(`before${i}`, '1'))).status, Status.success);
    assert.ok((await counted(first)).sets >= setsBefore);
    await first.stop('SIGKILL');
    await using again = await NodeProcess.start({ dataDir: first.dataDir });
    const reconnected = await connect(`couchbase://${again.ready.node.kv}`, administrator);
    const collection = reconnected.bucket('b').defaultCollection();
    const start = await counted(again);
    await collection.upsert('k', {});
    for (let i = 0; i < 3; i++) await collection.get('k');
    assert.deepEqual(grown(start, await counted(again)), { hits: 3, misses: 0, sets: 1, deletes: 0 });
    assert.ok(start.sets < otherSetsMax, 'counts from before the restart remain');
    await reconnected.close();
  });

  test('pass promtool except for published names', {
    skip: needs('prometheus'),
  }, async () => {
    const text = await exported(node);
    const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    });
    const problems = `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
    assert.ok(status === 0 || status === 3, problems.join('\n'));
    assert.deepEqual(
      problems.filter((line) => !published.has(line.split(' ')[0] as string) || !aboutNames.test(line)),
      [],
    );
  });

  test('are collected by a real Prometheus that finds the node by itself, and fill every panel of the dashboard', {
    skip: needs('prometheus'),
  }, async () => {
    const form = { password: 'scrape-secret', roles: 'external_stats_reader' };
    await node.request('/settings/rbac/users/local/prometheus', 'PUT', form);
    const folder = mkdtempSync(join(tmpdir(), 'divan-scrape-'));
    const auth = 'basic_auth: {username: prometheus, password: scrape-secret}';
    const config = `scrape_configs:
- job_name: divan
  scrape_interval: 1s
  ${auth}
  http_sd_configs:
  - url: ${node.ready.node.rest}/prometheus_sd_config?port=insecure
    ${auth}
`;
    writeFileSync(join(folder, 'prometheus.yml'), config);
    const address = `127.0.0.1:${await freePort()}`;
    const args = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
    const child = spawn('prometheus', [...args, `--web.listen-address=${address}`], { stdio: 'ignore' });
    try {
      const query = async (text: string) => {
        const answer = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(text)}`);
        const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
        return data.result.map(({ value }) => Number(value[1]));
      };
      await eventually(async () => assert.deepEqual(await query('up{job="divan"}'), [1]));
      const sets = await figureOf(node, operations.sets);
      await eventually(async () => assert.deepEqual(await query(operations.sets), [sets]));
      await eventually(async () => assert.equal((await query('rate(kv_disk_seconds_count[10s])')).length, 1));
      assert.deepEqual(await query('scrape_samples_scraped == 0'), []);
      for (const [variable, metric] of [
        ['node', 'kv_curr_connections'],
        ['bucket', 'kv_curr_items'],
      ])
        assert.ok(
          (await query(`count(${metric})`)).length === 1,
          `the dashboard does not find one ${variable}`,
        );
      const collection = cluster.bucket('b').defaultCollection();
      await eventually(async () => {
        await collection.upsert('seen', {});
        await collection.get('seen');
        for (const { title, expr } of dashboard()) {
          const text = expr.replaceAll(/\$(node|bucket)/g, '.+').replaceAll('$__rate_interval', '10s');
          const values = await query(text);
          assert.ok(values.length > 0, `"${title}" is empty: ${text}`);
          assert.ok(values.some(Number.isFinite), `"${title}" shows no number: ${text}`);
        }
      });
    } finally {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true });
    }
  });
});

/** The queries of the dashboard's panels. */
function dashboard(): { title: string; expr: string }[] {
  const text = readFileSync(new URL('../../docs/grafana/divan.json', import.meta.url), 'utf8');
  const { panels } = JSON.parse(text) as { panels: { title: string; targets?: { expr: string }[] }[] };
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
}

test('the dashboard uses only existing metrics', () => {
  const queries = dashboard();
  assert.ok(queries.length > 20);
  for (const { expr } of queries) {
    for (const [name] of expr.matchAll(/\b(?:kv|sys|sysproc|cm|couch)_\w+/g))
      assert.ok(metricOf(name.replace(/_(bucket|sum|count)$/, '')) ?? metricOf(name), `${name} in ${expr}`);
  }
});
