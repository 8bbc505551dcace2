// The names of samples that the published exporter reads from every bucket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import { bucketFigures } from './bucket-figures.ts';

const wholeBucketNames = [
  'ep_mem_high_wat',
  'ep_mem_low_wat',
  'ep_max_size',
  'ep_kv_size',
  'ep_oom_errors',
  'ep_tmp_oom_errors',
  'ep_num_non_resident',
  'ep_overhead',
  'ep_meta_data_memory',
  'ep_vb_total',
  'ep_item_commit_failed',
  'disk_commit_count',
  'disk_commit_total',
  'ep_flusher_todo',
  'ep_dcp_views+indexes_count',
  'couch_views_ops',
  'couch_views_data_size',
  'couch_views_fragmentation',
  'couch_spatial_disk_size',
];
const otherNames = [
  'ep_dcp_total_bytes',
  'ep_num_ops_del_ret_meta',
  'hibernated_requests',
  'ep_replica_hlc_drift',
];
const vbucketNames = ['num', 'curr_items', 'num_non_resident', 'eject', 'itm_memory', 'meta_data_memory'];
const queueNames = ['queue_items', 'queue_size', 'queue_fill', 'queue_drain', 'resident_items_ratio'];
const streamNames = ['count', 'producer_count', 'items_remaining', 'items_sent', 'total_bytes', 'backoff'];
const published = [
  ...wholeBucketNames,
  ...otherNames,
  ...['active', 'replica', 'pending'].flatMap((state) =>
    [...vbucketNames, ...queueNames].map((name) => `vb_${state}_${name}`),
  ),
  ...['replica', 'xdcr', 'fts', 'cbas', '2i', 'eventing', 'other', 'views'].flatMap((kind) =>
    streamNames.map((name) => `ep_dcp_${kind}_${name}`),
  ),
];

test('the samples of a bucket have the names that the published exporter reads', async () => {
  assert.deepEqual(
    published.filter((name) => !Object.hasOwn(bucketFigures, name)),
    [],
  );
  const { request, manager } = await aManager();
  await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
  const { samples } = (await request('/pools/default/buckets/b/stats')).body.op;
  assert.deepEqual(
    published.filter((name) => !Array.isArray(samples[name])),
    [],
  );
  await manager.stop();
});
