// What a bucket uses on all nodes, where a request depends on it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketsServiceOn } from '../../../test/support/buckets-service.ts';
import { aCluster, figures, memoryCluster, nodeNamed } from '../../../test/support/cluster.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { MeasuredBucket } from '../config/data-service.ts';
import type { KnownFigures } from '../nodes/node-figures.ts';
import { noFigures } from '../nodes/system.ts';
import type { BucketsService } from './buckets.service.ts';

const mib = 1024 ** 2;
const gib = 1024 ** 3;

/** A bucket of 500 MB that uses `megabytes` of memory, and of the disk, on this node and on node `b`. */
async function aBucket(megabytes: readonly [own: number, b: number], own: Partial<NodeState> = {}) {
  const nodes = [{ ...(aCluster().nodes[0] as NodeState), ...own }, nodeNamed('b')];
  const cluster = await memoryCluster(
    1024,
    aCluster({ nodes: [...nodes, nodeNamed('q', { services: ['n1ql'] })] }),
  );
  let measured: Record<string, MeasuredBucket> = {};
  const known = (node: string): KnownFigures => {
    const disk = { mountPoint: '/', totalBytes: 50 * gib, usedBytes: 30 * gib, freeBytes: 20 * gib };
    const of = { version: '', os: '', uptimeSeconds: 0, system: { ...noFigures, disk } };
    return { problem: null, figures: node === 'b' ? { ...of, measured } : null };
  };
  const service = bucketsServiceOn(cluster, { nodeFigures: { known }, wireNames: 'neutral' });
  const created = service.create({ name: 'x', ramQuotaMB: '500', replicaNumber: '0' }, true);
  await cluster.clock.advance(60_000);
  const { uuid } = await created;
  const using = (megabytes: number) => figures({ memUsedBytes: megabytes * mib, diskBytes: megabytes * mib });
  cluster.data.figures.set(uuid, using(megabytes[0]));
  measured = { [uuid]: using(megabytes[1]) };
  return service;
}

const ramProblem = async (service: BucketsService, ramQuotaMB: string) =>
  (await service.validateChange('x', { ramQuotaMB }, true)).fields['ramQuotaMB'];
const belowUse = 'RAM quota cannot be set below current usage.';

test('a quota is refused below the mean of what the bucket uses on the data nodes', async () => {
  const service = await aBucket([100, 300]);
  assert.deepEqual(
    [await ramProblem(service, '199'), await ramProblem(service, '201')],
    [belowUse, undefined],
  );
  const asked = await aBucket([0, 300], { services: ['n1ql'] });
  assert.deepEqual([await ramProblem(asked, '299'), await ramProblem(asked, '301')], [belowUse, undefined]);
});

test('the summaries of a validation count all data nodes', async () => {
  const service = await aBucket([100, 300]);
  const { summaries } = await service.validateChange('x', { ramQuotaMB: '400' }, true);
  assert.deepEqual(summaries, {
    ramSummary: {
      total: 2 * gib,
      otherBuckets: 0,
      nodesCount: 2,
      perNodeMegs: 400,
      thisAlloc: 800 * mib,
      thisUsed: 400 * mib,
      free: 2 * gib - 800 * mib,
    },
    hddSummary: {
      total: 150 * gib,
      otherData: 70 * gib - 400 * mib,
      otherBuckets: 0,
      thisUsed: 400 * mib,
      free: 80 * gib,
    },
  });
});
