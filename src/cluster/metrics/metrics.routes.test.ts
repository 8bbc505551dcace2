import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';

const bucketForm = { name: 'shop', ramQuota: 256 };

async function withBucket() {
  const cluster = await aManager();
  await cluster.request('/pools/default/buckets', { form: bucketForm });
  return cluster;
}

test('the node shows current metrics in the text format of Prometheus', async () => {
  const { request, kv } = await withBucket();
  kv.figures['shop'] = { gets: 5, getHits: 3, items: 7 };
  const { status, headers, text } = await request('/metrics');
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  for (const line of [
    'kv_ops{bucket="shop",op="get",result="hit"} 3',
    'kv_ops{bucket="shop",op="get",result="miss"} 2',
    'kv_curr_items{bucket="shop"} 7',
    'sys_cpu_utilization_rate 12.5',
    'sys_cpu_user_rate 8',
    'sys_cpu_sys_rate 4',
    'sys_cpu_irq_rate 0.5',
    'sys_cpu_host_user_rate 16',
    `sys_mem_free ${4 * 2 ** 30}`,
    `sys_mem_used_sys ${5 * 2 ** 30}`,
    'sysproc_page_faults_raw{proc="divan"} 13',
    `sys_disk_usage_ratio{disk="/"} ${40 / 90}`,
    'sysproc_cpu_seconds_total{proc="divan",mode="user"} 2',
    'cm_http_requests_total{code="202",method="POST",path="/pools/default/buckets",scheme="http"} 1',
  ])
    assert.ok(text.split('\n').includes(line), line);
});

test('the node uses OpenMetrics if the Accept header of a collector allows it', async () => {
  const { request } = await withBucket();
  const accept = 'application/openmetrics-text; version=1.0.0; charset=utf-8,text/plain;version=0.0.4;q=0.5';
  const { headers, text } = await request('/metrics', { accept });
  assert.equal(headers['content-type'], 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  assert.ok(text.endsWith('# EOF\n'));
});

test('the node shows metrics to readers of statistics of the whole cluster only', async () => {
  const { request } = await withBucket();
  for (const [name, roles] of [
    ['outside', 'external_stats_reader'],
    ['shopper', 'bucket_admin[shop]'],
    ['viewer', 'ro_admin'],
  ]) {
    const url = `/settings/rbac/users/local/${name}`;
    await request(url, { method: 'PUT', form: { password: 'secret', roles: roles as string } });
  }
  const statusAs = async (as: string | null, url: string) => (await request(url, { as })).status;
  for (const url of ['/metrics', '/prometheus_sd_config']) {
    assert.equal(await statusAs('outside:secret', url), 200);
    assert.equal(await statusAs('shopper:secret', url), 403);
    assert.equal(await statusAs(null, url), 401);
  }
});

test('the node lists scrape targets as JSON or YAML, with secure ports by default', async () => {
  const { request } = await aManager();
  const targets = await request('/prometheus_sd_config');
  assert.equal(targets.headers['content-type'], 'application/json');
  assert.deepEqual(targets.body, [{ targets: ['127.0.0.1:18091'] }]);
  const yaml = await request('/prometheus_sd_config?type=yaml&port=insecure&disposition=attachment');
  assert.equal(yaml.text, "- targets:\n  - '127.0.0.1:8091'\n");
  assert.match(String(yaml.headers['content-disposition']), /^attachment; filename="/);
  const wrong = await request('/prometheus_sd_config?port=both&x=1');
  assert.equal(wrong.status, 400);
  assert.deepEqual(wrong.body, {
    errors: {
      port: 'The value must be one of the following: [insecure,secure]',
      x: 'Unsupported key',
    },
  });
});

test('the node lists alternate addresses of nodes on request, and the usual ones if there are none', async () => {
  const { request } = await aManager();
  const external = '/prometheus_sd_config?network=external&port=insecure';
  assert.deepEqual((await request(external)).body, [{ targets: ['127.0.0.1:8091'] }]);
  const form = { hostname: 'db.example.com', mgmt: 9091 };
  const set = await request('/node/controller/setupAlternateAddresses/external', { method: 'PUT', form });
  assert.equal(set.status, 200, set.text);
  assert.deepEqual((await request(external)).body, [{ targets: ['db.example.com:9091'] }]);
});

test('the node shows the series of a bucket only to callers that may read its statistics', async () => {
  const { request } = await withBucket();
  await request('/pools/default/buckets', { form: { ...bucketForm, name: 'other' } });
  const form = { password: 'secret', roles: 'data_monitoring[shop],bucket_full_access[shop]' };
  const created = await request('/settings/rbac/users/local/shopper', { method: 'PUT', form });
  assert.equal(created.status, 200, created.text);
  const statusOf = async (bucket: string, path: string) =>
    (await request(`/pools/default/buckets/${bucket}/${path}`, { as: 'shopper:secret' })).status;
  for (const path of ['stats', 'stats/ops', 'stats?zoom=day', 'nodes/127.0.0.1%3A8091/stats']) {
    assert.equal(await statusOf('shop', path), 200, path);
    assert.equal(await statusOf('other', path), 403, path);
  }
});
