import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BucketReport, noCounts, noTraffic } from '#kv/admin.ts';
import { metricOf } from '#metrics/catalog.ts';
import { flatten } from '#metrics/registry.ts';
import { aBucketReport, aKvReport } from '../../../test/support/kv-reports.ts';
import { initialManifest } from '../config/cluster-state.ts';
import { kvMetrics } from './kv-metrics.ts';

const manifest = {
  ...initialManifest(),
  scopes: [
    ...initialManifest().scopes,
    { name: 'shop', uid: '8', collections: [{ name: 'orders', uid: 'a', maxTTL: 60 }] },
  ],
};

function valuesOf(changes: Partial<BucketReport>, traffic = noTraffic()) {
  const report = aKvReport({ buckets: [aBucketReport(changes)], connections: 3, traffic });
  const samples = [
    ...kvMetrics(report, (uuid) =>
      uuid === 'u' ? { quotaBytes: 100, evictsNothing: true, manifest } : null,
    ),
  ];
  for (const { name, kind } of samples) assert.equal(metricOf(name)?.kind, kind, name);
  const values = new Map(
    [...flatten(samples)].map(({ name, labels, value }) => [
      `${name} ${Object.values(labels).join(' ')}`.trim(),
      value,
    ]),
  );
  return (name: string) => values.get(name);
}

test('the metrics endpoint counts operations by kind and result', () => {
  const value = valuesOf({ gets: 7, getHits: 5, sets: 4, deletes: 3, deleteMisses: 2, casBadValues: 1 });
  assert.deepEqual(
    ['get hit', 'get miss', 'set', 'delete hit', 'delete miss', 'cas badval', 'incr hit'].map((op) =>
      value(`kv_ops b ${op}`),
    ),
    [5, 2, 4, 3, 2, 1, 0],
  );
});

test('the metrics endpoint reports items and operations of each collection', () => {
  const orders = { ...noCounts(), gets: 2, sets: 3, increments: 1 };
  const activity = { ...aBucketReport({}).activity, collections: { a: orders } };
  const value = valuesOf({ collectionItems: { a: 9 }, activity });
  const names = ['item_count', 'maxTTL_seconds'].map((name) => value(`kv_collection_${name} b shop orders`));
  assert.deepEqual(names, [9, 60]);
  const ops = ['get', 'store', 'delete'].map((op) => value(`kv_collection_ops b shop orders ${op}`));
  assert.deepEqual(ops, [2, 4, 0]);
  assert.equal(value('kv_collection_ops b _default _default get'), 0);
});

test('the metrics endpoint reports the progress of the disk queue', () => {
  const activity = { ...aBucketReport({}).activity, queued: 10 };
  const value = valuesOf({ dirtyItems: 3, activity });
  assert.deepEqual(
    ['fill', 'drain', 'items'].map((name) => value(`kv_ep_diskqueue_${name} b`)),
    [10, 7, 3],
  );
});

test('the metrics endpoint reports the uses of memory, and writes refused for lack of it', () => {
  const memory = { items: 70, meta: 20, overhead: 5 };
  const activity = {
    ...aBucketReport({}).activity,
    memory,
    memoryRefusals: 3,
    failedCommits: 2,
    dirtyBytes: 9,
  };
  const value = valuesOf({ activity, dirtyItems: 4 });
  assert.deepEqual(
    ['max_size', 'mem_high_wat', 'mem_low_wat', 'overhead_bytes', 'oom_errors', 'item_commit_failed'].map(
      (name) => value(`kv_ep_${name} b`),
    ),
    [100, 85, 75, 5, 3, 2],
  );
  assert.deepEqual(
    ['itm_memory_bytes', 'meta_data_memory_bytes', 'queue_size', 'queue_memory_bytes'].map((name) =>
      value(`kv_vb_${name} b active`),
    ),
    [70, 20, 4, 9],
  );
});

test('the metrics endpoint reports the share of resident documents, 100% of an empty bucket', () => {
  assert.equal(valuesOf({ items: 8, nonResident: 2 })('kv_vb_perc_mem_resident_ratio b active'), 0.75);
  assert.equal(valuesOf({})('kv_vb_perc_mem_resident_ratio b active'), 1);
});

test('the metrics endpoint reports the connections of data ports, and nothing of a bucket being deleted', () => {
  const value = valuesOf(
    { uuid: 'gone' },
    { ...noTraffic(), connections: 5, logins: 4, refusedLogins: 1, readBytes: 9 },
  );
  assert.deepEqual(
    ['curr_connections', 'total_connections', 'auth_cmds', 'auth_errors', 'read_bytes'].map((name) =>
      value(`kv_${name}`),
    ),
    [3, 5, 5, 1, 9],
  );
  assert.equal(value('kv_curr_items b'), undefined);
});

test('the metrics endpoint reports buckets with damaged files and buckets that refuse writes', () => {
  const intact = valuesOf({});
  assert.deepEqual([intact('kv_bucket_damaged_files b'), intact('kv_bucket_writes_refused b')], [0, 0]);
  const damaged = valuesOf({
    damaged: [{ file: 1, path: '/f', reason: 'r' }],
    writeFailure: 'disk I/O error',
  });
  assert.deepEqual([damaged('kv_bucket_damaged_files b'), damaged('kv_bucket_writes_refused b')], [1, 1]);
});

test('the metrics endpoint reports copies apart from the vbuckets that this node serves', () => {
  const vbuckets = {
    active: { vbuckets: 512, items: 7 },
    replica: { vbuckets: 500, items: 5 },
    pending: { vbuckets: 0, items: 0 },
  };
  const value = valuesOf({ items: 7, vbuckets });
  assert.deepEqual(
    ['num_vbuckets b active', 'num_vbuckets b replica', 'num_vbuckets b pending'].map((name) =>
      value(`kv_${name}`),
    ),
    [512, 500, undefined],
  );
  assert.deepEqual([value('kv_vb_curr_items b replica'), value('kv_curr_items_tot b')], [5, 12]);
});
