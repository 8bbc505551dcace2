import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppError } from '#contract/errors.ts';
import type { Form } from '#contract/route.ts';
import { bucketsServiceOn } from '../../../test/support/buckets-service.ts';
import { figures, memoryCluster } from '../../../test/support/cluster.ts';
import type { Edition, Vocabulary } from '../config/cluster-state.ts';
import { BucketsStore } from './buckets.store.ts';

const gib = 1024 ** 3;

async function aService(options: { memoryQuotaMb?: number; edition?: Edition; wireNames?: Vocabulary } = {}) {
  const cluster = await memoryCluster(options.memoryQuotaMb ?? 1024);
  const service = bucketsServiceOn(cluster, {
    edition: options.edition ?? 'enterprise',
    wireNames: options.wireNames ?? 'branded',
  });
  return { ...cluster, service };
}

const fields = (error: unknown): Record<string, string> => {
  assert(error instanceof AppError, String(error));
  assert(error.body.kind === 'bucketFields' || error.body.kind === 'bare', error.body.kind);
  return { ...error.body.fields };
};

const refusal = (work: Promise<unknown>): Promise<AppError> =>
  work.then(
    () => assert.fail('was not refused'),
    (error) => error as AppError,
  );

const values: Form = { name: 'b', ramQuotaMB: '100' };

describe('creating a bucket', () => {
  it('stores the published defaults', async () => {
    const { service } = await aService();
    const { uuid, ...bucket } = await service.create(values, false);
    assert.match(uuid, /^[0-9a-f]{32}$/);
    assert.deepEqual(bucket, {
      name: 'b',
      vocabulary: 'branded',
      type: 'native',
      ramQuotaMb: 100,
      replicaNumber: 1,
      replicaIndex: true,
      evictionPolicy: 'valueOnly',
      durabilityMinLevel: 'none',
      threadsNumber: 3,
      compressionMode: 'passive',
      maxTtlSeconds: 0,
      conflictResolutionType: 'seqno',
      driftAheadThresholdMs: 5000,
      driftBehindThresholdMs: 5000,
      flushEnabled: false,
      autoCompaction: null,
      purgeIntervalDays: null,
      incarnation: 0,
      state: 'ready',
    });
  });

  it('stores the vocabulary of its creation', async () => {
    const { service } = await aService({ wireNames: 'branded', memoryQuotaMb: 4096 });
    for (const [sent, type, vocabulary] of [
      ['native', 'native', 'neutral'],
      ['couchbase', 'native', 'branded'],
      ['membase', 'native', 'branded'],
      ['memcached', 'cache', 'branded'],
      ['cache', 'cache', 'neutral'],
      ['ephemeral', 'ephemeral', 'branded'],
      [undefined, 'native', 'branded'],
    ] as const) {
      const form = { name: `b-${sent}`, ramQuotaMB: '100', ...(sent && { bucketType: sent }) };
      const bucket = await service.create(form, false);
      assert.deepEqual([bucket.type, bucket.vocabulary], [type, vocabulary]);
    }
  });

  const refusals: [string, Form, Record<string, RegExp>][] = [
    ['a missing name', { ramQuotaMB: '100' }, { name: /^Bucket name needs to be specified$/ }],
    ['an empty name', { ...values, name: '' }, { name: /^Bucket name cannot be empty$/ }],
    ['a name over 100 bytes', { ...values, name: 'x'.repeat(101) }, { name: /cannot exceed 100/ }],
    ['a name with a space', { ...values, name: 'a b' }, { name: /can only contain/ }],
    ['a name with a leading dot', { ...values, name: '.a' }, { name: /cannot start with dot/ }],
    ['a reserved name', { ...values, name: '_Users.Couch.x' }, { name: /reserved/ }],
    ['an unknown type', { ...values, bucketType: 'disk' }, { bucketType: /^invalid bucket type$/ }],
    [
      'a type named like a property of objects',
      { ...values, bucketType: 'constructor' },
      { bucketType: /invalid/ },
    ],
    [
      'no quota',
      { name: 'b' },
      { ramQuotaMB: /^The RAM Quota must be specified and must be a positive integer\.$/ },
    ],
    ['a quota as a word', { name: 'b', ramQuota: 'much' }, { ramQuota: /must be a positive integer/ }],
    [
      'a negative quota',
      { name: 'b', ramQuotaMB: '-1' },
      { ramQuotaMB: /^The RAM Quota cannot be negative\.$/ },
    ],
    [
      'a small quota',
      { name: 'b', ramQuotaMB: '99' },
      { ramQuotaMB: /^RAM quota cannot be less than 100 MB$/ },
    ],
    ['a small quota by its other name', { name: 'b', ramQuota: '99' }, { ramQuota: /less than 100 MB$/ }],
    ['a too large quota', { name: 'b', ramQuotaMB: '1025' }, { ramQuotaMB: /too large to be provisioned/ }],
    ['a huge quota', { name: 'b', ramQuotaMB: '999999999999' }, { ramQuotaMB: /too large/ }],
    [
      'four replicas',
      { ...values, replicaNumber: '4' },
      { replicaNumber: /^Replica number larger than 3 is not supported\.$/ },
    ],
    [
      'a fraction of a replica',
      { ...values, replicaNumber: '1.0' },
      { replicaNumber: /non-negative integer/ },
    ],
    [
      'replicas of a cache',
      { ...values, bucketType: 'memcached', replicaNumber: '1' },
      { replicaNumber: /not valid for memcached/ },
    ],
    [
      'an eviction policy of another type',
      { ...values, evictionPolicy: 'noEviction' },
      { evictionPolicy: /'valueOnly' or 'fullEviction'/ },
    ],
    [
      'an eviction policy of another type for an ephemeral bucket',
      { ...values, bucketType: 'ephemeral', evictionPolicy: 'valueOnly' },
      { evictionPolicy: /'noEviction' or 'nruEviction'/ },
    ],
    [
      'an eviction policy of a cache',
      { ...values, bucketType: 'cache', evictionPolicy: 'valueOnly' },
      { evictionPolicy: /cache buckets/ },
    ],
    [
      'a persistence level of an ephemeral bucket',
      { ...values, bucketType: 'ephemeral', replicaNumber: '0', durabilityMinLevel: 'persistToMajority' },
      { durabilityMinLevel: /'none' or 'majority'/, durability_min_level: /ephemeral/ },
    ],
    [
      'a level that one node cannot meet',
      { ...values, durabilityMinLevel: 'majority' },
      { durabilityMinLevel: /do not have enough data servers/, durability_min_level: /enough/ },
    ],
    [
      'a level with three replicas',
      { ...values, replicaNumber: '3', durabilityMinLevel: 'majority' },
      { durabilityMinLevel: /3 replicas/, durability_min_level: /3 replicas/ },
    ],
    ['threads as a word', { ...values, threadsNumber: 'eight' }, { threadsNumber: /must be an integer/ }],
    ['negative threads', { ...values, threadsNumber: '-1' }, { threadsNumber: /must be an integer/ }],
    [
      'an unknown compression',
      { ...values, compressionMode: 'zip' },
      { compressionMode: /'off', 'passive' or 'active'/ },
    ],
    ['a maxTTL above the limit', { ...values, maxTTL: '2147483649' }, { maxTTL: /between 0 and 2147483648/ }],
    ['a negative maxTTL', { ...values, maxTTL: '-1' }, { maxTTL: /between 0/ }],
    ['an unknown replica index', { ...values, replicaIndex: 'yes' }, { replicaIndex: /1 or 0/ }],
    [
      'an unknown resolution',
      { ...values, conflictResolutionType: 'luck' },
      { conflictResolutionType: /'seqno' or 'lww'/ },
    ],
    ['flush other than 0 or 1', { ...values, flushEnabled: 'true' }, { flushEnabled: /can only be 1 or 0/ }],
    [
      'another storage engine',
      { ...values, storageBackend: 'magma' },
      { storageBackend: /magma/, storage_mode: /magma/ },
    ],
    ['point in time recovery', { ...values, pitrEnabled: 'true' }, { pitrEnabled: /developer preview/ }],
    [
      'own compaction without the parallel flag',
      { ...values, autoCompactionDefined: 'true' },
      { parallelDBAndViewCompaction: /^parallelDBAndViewCompaction is missing$/ },
    ],
    [
      'compaction at 1 percent',
      {
        ...values,
        autoCompactionDefined: 'true',
        parallelDBAndViewCompaction: 'false',
        'databaseFragmentationThreshold[percentage]': '1',
      },
      { 'databaseFragmentationThreshold[percentage]': /too small\. Allowed range is 2 - 100$/ },
    ],
    [
      'an hour above 23',
      {
        ...values,
        autoCompactionDefined: 'true',
        parallelDBAndViewCompaction: 'false',
        'allowedTimePeriod[toHour]': '24',
      },
      {
        'allowedTimePeriod[toHour]': /^to hour is too large\. Allowed range is 0 - 23$/,
        allowedTimePeriod: /Must specify all/,
      },
    ],
    [
      'a purge interval that is too short',
      {
        ...values,
        autoCompactionDefined: 'true',
        parallelDBAndViewCompaction: 'false',
        purgeInterval: '0.01',
      },
      { purgeInterval: /too small\. Allowed range is 0\.04 - 60/ },
    ],
  ];
  for (const [what, form, expected] of refusals) {
    it(`refuses ${what}`, async () => {
      const { service, view } = await aService();
      const error = await refusal(service.create(form, true));
      assert.equal(error.status, 400);
      const problems = fields(error);
      assert.deepEqual(Object.keys(problems).sort(), Object.keys(expected).sort());
      for (const [key, text] of Object.entries(expected)) assert.match(problems[key] as string, text);
      assert.equal(view.liveBuckets().length, 0);
    });
  }

  it('reports all problems at once', async () => {
    const { service } = await aService();
    const form = { name: 'a b', ramQuotaMB: '1', replicaNumber: '9', evictionPolicy: 'x', maxTTL: 'x' };
    const problems = fields(await refusal(service.create(form, false)));
    assert.deepEqual(Object.keys(problems).sort(), [
      'evictionPolicy',
      'maxTTL',
      'name',
      'ramQuotaMB',
      'replicaNumber',
    ]);
  });

  it('sends the memory and disk summaries with a refusal', async () => {
    const { service } = await aService();
    await service.create({ ...values, name: 'other' }, false);
    const error = await refusal(service.create({ name: '', ramQuotaMB: '2000' }, false));
    assert(error.body.kind === 'bucketFields');
    const mib = 1024 ** 2;
    assert.deepEqual(error.body.summaries, {
      ramSummary: {
        total: 1024 * mib,
        otherBuckets: 100 * mib,
        nodesCount: 1,
        perNodeMegs: 2000,
        thisAlloc: 2000 * mib,
        thisUsed: 0,
        free: (1024 - 100 - 2000) * mib,
      },
      hddSummary: { total: 100 * gib, otherData: 40 * gib, otherBuckets: 0, thisUsed: 0, free: 60 * gib },
    });
  });

  it('refuses a name that differs from another only in case', async () => {
    const { service } = await aService();
    await service.create({ ...values, name: 'Orders' }, false);
    const problems = fields(await refusal(service.create({ ...values, name: 'orders' }, true)));
    assert.equal(problems['name'], 'Bucket with given name already exists');
  });

  it('checks the number of buckets first', async () => {
    const { service } = await aService({ memoryQuotaMb: 10_000 });
    for (let count = 0; count < 30; count++) await service.create({ ...values, name: `b${count}` }, false);
    const error = await refusal(service.create({}, false));
    assert.equal(error.status, 400);
    assert.equal(error.body.kind, 'bucketFields');
    assert.deepEqual(fields(error), { _: 'Cannot create more than 30 buckets' });
    assert.deepEqual((await service.validateNew({}, false)).fields, fields(error));
  });

  it('grants name and memory to one of several concurrent creations', async () => {
    const { service } = await aService({ memoryQuotaMb: 150 });
    const results = await Promise.allSettled([
      service.create(values, true),
      service.create({ ...values, name: 'c' }, true),
      service.create(values, true),
    ]);
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal(service.list().length, 1);
  });

  it('stores threads other than 8 as 3', async () => {
    const { service } = await aService();
    for (const [sent, stored] of [
      ['8', 8],
      ['7', 3],
      ['0', 3],
      ['100', 3],
    ] as const) {
      const bucket = await service.create({ ...values, name: `t${sent}`, threadsNumber: sent }, false);
      assert.equal(bucket.threadsNumber, stored);
    }
  });

  it('stores compaction settings of the bucket, with sizes in megabytes', async () => {
    const { service } = await aService();
    const bucket = await service.create(
      {
        ...values,
        autoCompactionDefined: 'true',
        parallelDBAndViewCompaction: 'true',
        'databaseFragmentationThreshold[percentage]': '50',
        'databaseFragmentationThreshold[size]': '256',
        'viewFragmentationThreshold[percentage]': 'undefined',
        'allowedTimePeriod[fromHour]': '1',
        'allowedTimePeriod[fromMinute]': '2',
        'allowedTimePeriod[toHour]': '3',
        'allowedTimePeriod[toMinute]': '4',
        'allowedTimePeriod[abortOutside]': 'true',
        purgeInterval: '0.12345678901234567',
      },
      false,
    );
    assert.deepEqual(bucket.autoCompaction, {
      parallelDBAndViewCompaction: true,
      allowedTimePeriod: { fromHour: 1, fromMinute: 2, toHour: 3, toMinute: 4, abortOutside: true },
      databaseFragmentationThreshold: { percentage: 50, sizeMb: 256 },
      viewFragmentationThreshold: { percentage: null, sizeMb: null },
    });
    assert.equal(bucket.purgeIntervalDays, 0.123456789012346);
  });

  it('applies the rules of the community edition', async () => {
    const { service } = await aService({ edition: 'community' });
    const form = {
      ...values,
      compressionMode: 'off',
      maxTTL: '0',
      conflictResolutionType: 'lww',
      storageBackend: 'magma',
    };
    const problems = fields(await refusal(service.create(form, true)));
    assert.match(
      problems['compressionMode'] as string,
      /^Compression mode is supported in enterprise edition only$/,
    );
    assert.match(problems['maxTTL'] as string, /^Max TTL is supported in enterprise edition only$/);
    assert.match(problems['conflictResolutionType'] as string, /enterprise edition/);
    assert.match(problems['storageBackend'] as string, /^Magma is supported in enterprise edition only$/);
    assert.equal((await service.create(values, true)).compressionMode, 'off');
  });
});

describe('validating without creating', () => {
  it('finds nothing wrong and creates nothing', async () => {
    const { service } = await aService();
    const validation = await service.validateNew({ ...values, replicaNumber: '0' }, false);
    assert.deepEqual(validation.fields, {});
    assert.deepEqual(service.list(), []);
  });

  it('warns of replicas that were sent and that no node can hold, unless the caller ignores warnings', async () => {
    const { service } = await aService();
    const sent = { ...values, replicaNumber: '1' };
    const lacking =
      'Warning: you do not have enough data servers or server groups to support this number of replicas';
    assert.deepEqual((await service.validateNew(sent, false)).fields, { replicaNumber: `${lacking}.` });
    assert.deepEqual((await service.validateNew(sent, true)).fields, {});
    assert.deepEqual((await service.validateNew(values, false)).fields, {});
    await service.create({ ...values, replicaNumber: '0' }, false);
    const { fields: changed } = await service.validateChange('b', { replicaNumber: '1' }, false);
    assert.deepEqual(changed, {
      replicaNumber: `${lacking} and changing replica number may require rebalance.`,
    });
  });

  it('adds no warning to a refusal of a form without replicaNumber', async () => {
    const { service } = await aService();
    await service.create(values, false);
    const refused = async (act: Promise<unknown>) => Object.keys(fields(await refusal(act)));
    assert.deepEqual(await refused(service.create({ ...values, name: 'c', maxTTL: 'x' }, false)), ['maxTTL']);
    assert.deepEqual(await refused(service.edit('b', { maxTTL: 'x' }, false)), ['maxTTL']);
  });

  it('counts the assumed memory of other buckets', async () => {
    const { service } = await aService();
    const { fields } = await service.validateNew({ ...values, otherBucketsRamQuotaMB: '1000' }, true);
    assert.match(fields['ramQuotaMB'] as string, /too large/);
  });
});

describe('editing a bucket', () => {
  it('changes the memory quota of a bucket of every type', async () => {
    const { service } = await aService();
    for (const bucketType of ['native', 'ephemeral', 'cache']) {
      await service.create({ ...values, name: bucketType, bucketType }, true);
      await service.edit(bucketType, { ramQuotaMB: '150' }, true);
      assert.equal(service.find(bucketType).ramQuotaMb, 150);
    }
  });

  it('changes the fields that are sent and keeps the others', async () => {
    const { service } = await aService();
    const before = await service.create({ ...values, maxTTL: '60', replicaIndex: '0' }, false);
    const form = {
      name: 'ignored',
      bucketType: 'nonsense',
      replicaIndex: '1',
      ramQuota: '200',
      flushEnabled: '1',
    };
    await service.edit('b', form, false);
    assert.deepEqual(service.find('b'), { ...before, ramQuotaMb: 200, flushEnabled: true });
  });

  it('refuses any conflict resolution type, and accepts another eviction policy of an ephemeral bucket', async () => {
    const { service } = await aService();
    await service.create({ ...values, bucketType: 'ephemeral' }, false);
    const form = { conflictResolutionType: 'seqno', evictionPolicy: 'valueOnly' };
    const problems = fields(await refusal(service.edit('b', form, true)));
    assert.equal(problems['conflictResolutionType'], 'Conflict resolution type not allowed in update bucket');
    assert.match(problems['evictionPolicy'] as string, /either 'noEviction' or 'nruEviction'/);
    await service.edit('b', { evictionPolicy: 'nruEviction' }, true);
    assert.equal(service.find('b')?.evictionPolicy, 'nruEviction');
  });

  it('refuses a quota below the memory that the documents use', async () => {
    const { service, data } = await aService();
    const { uuid } = await service.create({ ...values, ramQuotaMB: '500' }, false);
    data.figures.set(uuid, figures({ memUsedBytes: 300 * 1024 ** 2 }));
    const problems = fields(await refusal(service.edit('b', { ramQuotaMB: '250' }, true)));
    assert.equal(problems['ramQuotaMB'], 'RAM quota cannot be set below current usage.');
    await service.edit('b', { ramQuotaMB: '350' }, true);
  });

  it('removes the compaction settings of the bucket', async () => {
    const { service } = await aService();
    const compactionForm = {
      autoCompactionDefined: 'true',
      parallelDBAndViewCompaction: 'false',
      purgeInterval: '1',
    };
    await service.create({ ...values, ...compactionForm }, false);
    assert.equal(service.find('b').purgeIntervalDays, 1);
    await service.edit('b', { flushEnabled: '1' }, true);
    assert.notEqual(service.find('b').autoCompaction, null);
    await service.edit('b', { autoCompactionDefined: 'false' }, true);
    assert.deepEqual([service.find('b').autoCompaction, service.find('b').purgeIntervalDays], [null, null]);
  });

  it('treats names of another case as unknown', async () => {
    const { service } = await aService();
    await service.create(values, false);
    assert.equal((await refusal(service.edit('B', {}, false))).status, 404);
  });
});

describe('flushing and deleting a bucket', () => {
  it('raises the incarnation only if flush is enabled', async () => {
    const { service } = await aService();
    await service.create(values, false);
    const error = await refusal(service.flush('b'));
    assert.deepEqual([error.status, fields(error)], [400, { _: 'Flush is disabled for the bucket' }]);
    await service.edit('b', { flushEnabled: '1' }, true);
    await service.flush('b');
    assert.equal(service.find('b').incarnation, 1);
  });

  it('reserves the name until the files are removed', async () => {
    const { service, view, store } = await aService();
    const { uuid } = await service.create(values, false);
    const removal = service.remove('b');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await refusal(Promise.resolve().then(() => service.find('b')))).status, 404);
    const error = await refusal(service.create(values, true));
    assert.deepEqual([error.status, fields(error)], [503, { _: 'Bucket with given name still exists' }]);
    await new BucketsStore(store).change((state) => ({ ...state, byUuid: {} }));
    await removal;
    assert.equal(view.buckets.byUuid[uuid], undefined);
    await service.create(values, true);
  });

  it('reports after 30 seconds that a deletion continues', async () => {
    const { service, clock } = await aService();
    await service.create(values, false);
    const outcome = refusal(service.remove('b'));
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(30_000);
    const error = await outcome;
    assert.deepEqual(
      [error.status, fields(error)],
      [500, { _: 'Bucket deletion not yet complete, but will continue.\r\n' }],
    );
  });
});
