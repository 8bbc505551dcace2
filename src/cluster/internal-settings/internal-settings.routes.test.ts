import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import {
  checkSettings,
  managerTarget,
  type Parameter,
  refusals,
} from '../../../test/support/settings-suite.ts';

const path = '/internalSettings';

const between = (min: number, max: number) => `The value must be between ${min} and ${max}.`;
const number = (name: string, min: number, max: number): Parameter => ({
  name,
  good: [
    [`${min}`, min],
    [`${max}`, max],
  ],
  bad: ['', 'x', '1.5', `${min - 1}`, `${max + 1}`].map((sent) => [sent, between(min, max)] as const),
  missing: { reads: max },
});
const limit = (name: string): Parameter => ({
  name,
  good: [
    ['0', 0],
    ['99999', 99_999],
    ['', ''],
    ['50000', 50_000],
  ],
  bad: ['x', '1.5', '-1', '100000', 'undefined'].map((sent) => [sent, between(0, 99_999)] as const),
  missing: { reads: 50_000 },
});
const flag = (name: string): Parameter => ({
  name,
  good: [
    ['true', true],
    ['false', false],
  ],
  bad: ['', '1', 'TRUE'].map((sent) => [sent, "Accepted values are 'true' and 'false'."] as const),
  missing: { reads: false },
});

describe('the internal settings', () => {
  it('are as published on a fresh node', async () => {
    const { request } = await aManager();
    assert.deepEqual((await request(path)).body, {
      capiRequestLimit: '',
      dropRequestMemoryThresholdMiB: '',
      restRequestLimit: '',
      indexAwareRebalanceDisabled: false,
      rebalanceIgnoreViewCompactions: false,
      rebalanceIndexPausingDisabled: false,
      rebalanceIndexWaitingDisabled: false,
      enforceLimits: false,
      maxBucketCount: 30,
      maxParallelIndexers: 4,
      maxParallelReplicaIndexers: 2,
      rebalanceMovesBeforeCompaction: 64,
      rebalanceMovesPerNode: 4,
      xdcrAnticipatoryDelay: 0,
      xdcrCheckpointInterval: 1800,
      xdcrDocBatchSizeKb: 2048,
      xdcrFailureRestartInterval: 30,
      xdcrMaxConcurrentReps: 32,
      xdcrOptimisticReplicationThreshold: 256,
      xdcrWorkerBatchSize: 500,
    });
  });

  test('keep both limits of every range over restarts, and refuse values beyond them', async (t) => {
    await using target = await managerTarget();
    await checkSettings(t, target, {
      write: path,
      read: path,
      refusal: refusals.list,
      parameters: [
        ...['capiRequestLimit', 'dropRequestMemoryThresholdMiB', 'restRequestLimit'].map(limit),
        flag('indexAwareRebalanceDisabled'),
        flag('rebalanceIgnoreViewCompactions'),
        flag('rebalanceIndexPausingDisabled'),
        flag('rebalanceIndexWaitingDisabled'),
        flag('enforceLimits'),
        number('maxBucketCount', 1, 8192),
        number('maxParallelIndexers', 1, 1024),
        number('maxParallelReplicaIndexers', 1, 1024),
        number('rebalanceMovesBeforeCompaction', 1, 1024),
        number('rebalanceMovesPerNode', 1, 1024),
        number('xdcrAnticipatoryDelay', 0, 99_999),
        number('xdcrCheckpointInterval', 60, 14_400),
        number('xdcrDocBatchSizeKb', 10, 100_000),
        number('xdcrFailureRestartInterval', 1, 300),
        number('xdcrMaxConcurrentReps', 1, 256),
        number('xdcrOptimisticReplicationThreshold', 0, 20_971_520),
        number('xdcrWorkerBatchSize', 500, 10_000),
      ],
    });
  });

  test('include the number of indexers, which also has a separate path', async (t) => {
    await using target = await managerTarget();
    const settings = '/settings/maxParallelIndexers';
    const refused = (why: string) => [`Invalid globalValue: ${why}`, '_'] as const;
    await checkSettings(t, target, {
      write: settings,
      read: settings,
      refusal: refusals.bare,
      parameters: [
        {
          name: 'globalValue',
          good: [
            ['1', 1],
            ['1024', 1024],
          ],
          bad: [
            ['0', ...refused('too_small')],
            ['1025', ...refused('too_large')],
            ['x', ...refused('invalid')],
          ],
          missing: { text: 'Invalid globalValue: invalid', key: '_' },
        },
      ],
    });
    const { body } = await target.send('GET', settings);
    t.assert.deepEqual(body, { globalValue: 1024, nodes: { 'ns_1@cb.local': 1024 } });
    t.assert.equal(
      ((await target.send('GET', path)).body as { maxParallelIndexers: number }).maxParallelIndexers,
      1024,
    );
  });

  it('change together or not at all, and name every problem', async () => {
    const { request } = await aManager();
    const form = { maxBucketCount: '7', nonsense: '1', rebalanceMovesPerNode: '0' };
    const { status, body } = await request(path, { form });
    assert.equal(status, 400);
    const texts = ['Unknown key nonsense', 'rebalanceMovesPerNode - The value must be between 1 and 1024.'];
    assert.deepEqual(body, { errors: texts });
    assert.equal((await request(path)).body.maxBucketCount, 30);
  });

  it('are answered without a body, and read with any content type', async () => {
    const { server, request } = await aManager();
    const authorization = `Basic ${Buffer.from('Administrator:password').toString('base64')}`;
    const answer = await server.inject({
      method: 'POST',
      url: path,
      payload: 'maxBucketCount=9',
      headers: { authorization, 'content-type': 'application/octet-stream' },
    });
    assert.deepEqual([answer.statusCode, answer.payload], [200, '']);
    assert.equal((await request(path)).body.maxBucketCount, 9);
  });

  it('limit the number of buckets from then on', async () => {
    const { request } = await aManager();
    const make = (name: string) =>
      request('/pools/default/buckets', { form: { name, ramQuotaMB: '100', replicaNumber: '0' } });
    await request(path, { form: { maxBucketCount: '1' } });
    assert.equal((await make('a')).status, 202);
    const refused = await make('b');
    assert.deepEqual([refused.status, refused.body._], [400, 'Cannot create more than 1 buckets']);
    assert.equal((await request('/pools/default')).body.maxBucketCount, 1);
    await request(path, { form: { maxBucketCount: '2' } });
    assert.equal((await make('b')).status, 202);
  });

  it('limit the requests of each kind of port separately', async () => {
    const { request, requestCapi } = await aManager();
    await request(path, { form: { capiRequestLimit: '0' } });
    assert.equal((await requestCapi('/')).status, 503);
    assert.equal((await request('/pools')).status, 200);
    await request(path, { form: { capiRequestLimit: '', restRequestLimit: '0' } });
    assert.equal((await requestCapi('/')).status, 200);
    assert.equal((await request('/pools')).status, 503);
    await request(path, { form: { restRequestLimit: '' } });
    assert.equal((await request('/pools')).status, 200);
  });

  it('refuse requests while the manager uses more memory than its limit', async () => {
    const { request, requestCapi } = await aManager();
    await request(path, { form: { dropRequestMemoryThresholdMiB: '50' } });
    assert.match((await request('/pools')).text, /memory limit/);
    assert.equal((await requestCapi('/')).body.error, 'memory_limit_exceeded');
    await request(path, { form: { dropRequestMemoryThresholdMiB: '51' } });
    assert.equal((await request('/pools')).status, 200);
  });
});
