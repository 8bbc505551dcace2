// Every parameter of a bucket: the limits of its range, values beyond them, wrong types and omission, over restarts.
import { test } from 'node:test';
import {
  checkSettings,
  managerTarget,
  type Parameter,
  refusals,
  type SettingsTarget,
} from '../../../test/support/settings-suite.ts';

const buckets = '/pools/default/buckets';
const mib = 1024 * 1024;
/** Without replicas: otherwise every refusal would also contain the warning that no node can hold them. */
const minimalForm = { ramQuotaMB: '100', replicaNumber: '0' };
const each = (sent: readonly string[], text: string) => sent.map((value) => [value, text] as const);

type Fields = Record<string, string>;

/** Refusals without the summaries of memory and disk. */
function withoutSummaries(target: SettingsTarget): SettingsTarget {
  return {
    restartAfter: target.restartAfter,
    restart: () => target.restart(),
    async send(method, path, form) {
      const { status, body } = await target.send(method, path, form);
      return { status, body: status === 400 ? { errors: (body as { errors: unknown }).errors } : body };
    },
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  };
}

const bucketPath = (name: string): string => `${buckets}/${encodeURIComponent(name)}`;

/** Each write creates a bucket and deletes the previous one; reads show the last. */
function creating(target: SettingsTarget): SettingsTarget {
  let last = '';
  let count = 0;
  return {
    ...withoutSummaries(target),
    async send(method, path, form: Fields = {}) {
      if (method === 'GET') return await target.send('GET', bucketPath(last));
      const name = form['name'] ?? `b${++count}`;
      const answer = await withoutSummaries(target).send(method, path, { name, ...form });
      if (answer.status !== 202) return answer;
      if (last !== '') await target.send('DELETE', bucketPath(last));
      last = name;
      return answer;
    },
  };
}

async function ofBucket(form: Fields): Promise<SettingsTarget> {
  const target = await managerTarget();
  await target.send('POST', buckets, { name: 'b', ...minimalForm, ...form });
  return withoutSummaries(target);
}

const table = (parameters: readonly Parameter[]) => ({
  write: `${buckets}/b`,
  read: `${buckets}/b`,
  refusal: refusals.fields,
  parameters,
});

const tooLarge = 'RAM quota specified is too large to be provisioned into this cluster.';
const noQuota = 'The RAM Quota must be specified and must be a positive integer.';
const ramQuota = (name: string): Parameter => ({
  name,
  good: [
    ['100', 100 * mib],
    ['1024', 1024 * mib],
    [' 200 ', 200 * mib],
  ],
  bad: [
    ['99', 'RAM quota cannot be less than 100 MB'],
    ['1025', tooLarge],
    ['-1', 'The RAM Quota cannot be negative.'],
    ['9999999999999', tooLarge],
    ...each(['', 'x', '100.5'], noQuota),
  ],
  missing: { reads: 200 * mib },
  find: (answer: { quota: { rawRAM: number } }) => answer.quota.rawRAM,
});

const otherBucketsQuota: Parameter = {
  name: 'otherBucketsRamQuotaMB',
  good: [
    ['0', undefined],
    ['824', undefined],
  ],
  bad: [
    ['825', tooLarge, 'ramQuotaMB'],
    ...each(['-1', '', 'x'], 'The other buckets RAM Quota must be a positive integer.'),
  ],
  missing: { reads: undefined },
};

const threadsText = 'The number of threads must be an integer between 2 and 8, inclusive';
const ttlText = 'Max TTL must be an integer between 0 and 2147483648';
const replicas: Parameter = {
  name: 'replicaNumber',
  good: [
    ['3', 3],
    ['0', 0],
  ],
  bad: [
    ['-1', 'The replica number cannot be negative.'],
    ['4', 'Replica number larger than 3 is not supported.'],
    ...each(['', 'x', '1.5'], 'The replica number must be specified and must be a non-negative integer.'),
  ],
  missing: { reads: 0 },
};
const maxTtl: Parameter = {
  name: 'maxTTL',
  good: [
    ['0', 0],
    ['2147483648', 2_147_483_648],
  ],
  bad: each(['-1', '2147483649', '', 'x', '1.5'], ttlText),
  missing: { reads: 2_147_483_648 },
};
const compressionMode: Parameter = {
  name: 'compressionMode',
  good: ['off', 'passive', 'active'].map((mode) => [mode, mode] as const),
  bad: each(['', 'Off', '1'], "compressionMode can be set to 'off', 'passive' or 'active'"),
  missing: { reads: 'active' },
};
const flush: Parameter = {
  name: 'flushEnabled',
  good: [
    ['1', true],
    ['0', false],
  ],
  bad: each(['2', '-1', '', 'true'], 'flushEnabled can only be 1 or 0'),
  missing: { reads: false },
  find: (answer: { controllers: { flush?: string } }) => answer.controllers.flush !== undefined,
};
const evictionPolicy = (type: string, policies: readonly [string, string]): Parameter => ({
  name: 'evictionPolicy',
  good: policies.map((policy) => [policy, policy] as const),
  bad: each(
    ['', 'none', policies[0].toUpperCase()],
    `Eviction policy must be either '${policies[0]}' or '${policies[1]}' for ${type} buckets`,
  ),
  missing: { reads: policies[1] },
});
const fixed = (name: string, sent: string, reads: unknown, bad: Parameter['bad'] = []): Parameter => ({
  name,
  good: [[sent, reads]],
  bad,
  missing: { reads },
});
const preview = 'Point in time recovery is only supported in developer preview mode';
const history = 'History retention needs storage backend magma, which is not available in this version';

test('parameters of a native bucket change within their ranges, and are kept', async (t) => {
  await using target = await ofBucket({ bucketType: 'native' });
  await checkSettings(
    t,
    target,
    table([
      ramQuota('ramQuotaMB'),
      ramQuota('ramQuota'),
      otherBucketsQuota,
      evictionPolicy('native', ['valueOnly', 'fullEviction']),
      {
        name: 'threadsNumber',
        good: [
          ['8', 8],
          ['9', 3],
          ['0', 3],
          ['3', 3],
        ],
        bad: each(['-1', '', 'x', '3.5'], threadsText),
        missing: { reads: 3 },
      },
      replicas,
      maxTtl,
      compressionMode,
      flush,
      fixed('pitrEnabled', 'false', false, [
        ['true', preview],
        ['1', 'pitrEnabled must be true or false'],
      ]),
      fixed('pitrGranularity', '600', 600, each(['599', '601', 'x', ''], preview)),
      fixed('pitrMaxHistoryAge', '86400', 86_400, each(['86399', '86401', 'x'], preview)),
      fixed('historyRetentionBytes', '0', undefined, each(['1', '-1', 'x'], history)),
      fixed('historyRetentionSeconds', '0', undefined, each(['1', 'x'], history)),
      fixed('historyRetentionCollectionDefault', 'false', undefined, [['true', history]]),
    ]),
  );
});

test('the minimum durability level of a bucket is one that its type and replicas allow', async (t) => {
  const levels = ['none', 'majority', 'majorityAndPersistActive', 'persistToMajority'];
  const list = "'none', 'majority', 'majorityAndPersistActive', or 'persistToMajority'";
  const both = (key: string, text: string) => ({
    errors: { [key]: text, durability_min_level: text },
  });
  const level = (good: readonly string[], wrong: readonly string[], text: string): Parameter => ({
    name: 'durabilityMinLevel',
    good: good.map((value) => [value, value] as const),
    bad: wrong.map((value) => [value, text] as const),
    missing: { reads: good.at(-1) },
  });
  await using native = await ofBucket({});
  const text = `Durability minimum level must be one of ${list}`;
  await checkSettings(t, native, {
    ...table([level(levels, ['', 'all', 'Majority'], text)]),
    refusal: both,
  });
  await using ephemeral = await ofBucket({ bucketType: 'ephemeral' });
  const inMemory = "Durability minimum level must be either 'none' or 'majority' for ephemeral buckets";
  await checkSettings(t, ephemeral, {
    ...table([level(levels.slice(0, 2), [...levels.slice(2), ''], inMemory)]),
    refusal: both,
  });
});

test('parameters of an ephemeral bucket have ranges of their own', async (t) => {
  await using target = await ofBucket({ bucketType: 'ephemeral' });
  const purge = 'metadata purge interval';
  await checkSettings(
    t,
    target,
    table([
      evictionPolicy('ephemeral', ['noEviction', 'nruEviction']),
      replicas,
      maxTtl,
      compressionMode,
      flush,
      {
        name: 'purgeInterval',
        good: [
          ['0.0007', 0.0007],
          ['60', 60],
        ],
        bad: [
          ['0.0006', `${purge} is too small. Allowed range is 0.0007 - 60`],
          ['60.1', `${purge} is too large. Allowed range is 0.0007 - 60`],
          ['x', `${purge} must be a number`],
          ['', `${purge} must be a number`],
        ],
        missing: { reads: 60 },
      },
    ]),
  );
});

test('thresholds of clock drift are kept by buckets that resolve conflicts by time', async (t) => {
  await using target = await ofBucket({ conflictResolutionType: 'lww' });
  const drift = (side: string): Parameter => ({
    name: `drift${side === 'ahead' ? 'Ahead' : 'Behind'}ThresholdMs`,
    good: [
      ['100', 100],
      ['999999999999', 999_999_999_999],
    ],
    bad: [
      ['99', `The drift ${side} threshold can't be less than 100ms`],
      ['-1', `The drift ${side} threshold can't be less than 100ms`],
      ['9007199254740992', `The drift ${side} threshold can't be more than 9007199254740991ms`],
      ...each(['', 'x', '100.5'], `The drift ${side} threshold must be an integer not less than 100ms`),
    ],
    missing: { reads: 999_999_999_999 },
  });
  await checkSettings(t, target, table([drift('ahead'), drift('behind')]));
});

test('a creation validates the parameters that cannot be changed later', async (t) => {
  await using target = creating(await managerTarget());
  const named = (name: string) => [name, name] as const;
  await checkSettings(t, target, {
    write: buckets,
    read: buckets,
    base: minimalForm,
    status: 202,
    refusal: refusals.fields,
    parameters: [
      {
        name: 'name',
        good: [named('a'), named('x'.repeat(100)), named('A-Z_a.z%')],
        bad: [
          ['', 'Bucket name cannot be empty'],
          ['x'.repeat(101), 'Bucket name cannot exceed 100 characters'],
          ['.a', 'Bucket name cannot start with dot.'],
          ['a-z_A.Z%', 'Bucket with given name already exists'],
          ['_users.couch.x', 'This name is reserved for the internal use.'],
          [
            'a b',
            'Bucket name can only contain characters in range A-Z, a-z, 0-9 as well as underscore, period, dash & percent. Consult the documentation.',
          ],
        ],
        missing: { reads: 'b1' },
      },
      {
        name: 'bucketType',
        good: ['native', 'ephemeral', 'membase'].map((type) => [type, type] as const),
        bad: each(['', 'couch', 'Native'], 'invalid bucket type'),
        missing: { reads: 'membase' },
      },
      {
        name: 'ramQuotaMB',
        good: [['100', 100 * mib]],
        bad: [['99', 'RAM quota cannot be less than 100 MB']],
        missing: { text: noQuota },
        find: (answer: { quota: { rawRAM: number } }) => answer.quota.rawRAM,
      },
      {
        name: 'replicaIndex',
        good: [
          ['0', false],
          ['1', true],
        ],
        bad: each(['2', '-1', 'true', ''], 'replicaIndex can only be 1 or 0'),
        missing: { reads: false },
      },
      {
        name: 'conflictResolutionType',
        good: ['seqno', 'lww'].map((type) => [type, type] as const),
        bad: [
          ...each(['', 'LWW'], "Conflict resolution type must be 'seqno' or 'lww' or 'custom'"),
          ['custom', "Conflict resolution type 'custom' is supported only with developer preview enabled"],
        ],
        missing: { reads: 'seqno' },
      },
      fixed(
        'numVBuckets',
        '1024',
        undefined,
        each(['1023', '1025', 'x', ''], 'The number of vbuckets must be 1024'),
      ),
    ],
  });
});

test('a bucket of an unknown storage engine is refused', async (t) => {
  await using target = creating(await managerTarget());
  await checkSettings(t, target, {
    write: buckets,
    read: buckets,
    base: minimalForm,
    status: 202,
    refusal: (key, text) => ({ errors: { [key]: text, storage_mode: text } }),
    parameters: [
      fixed('storageBackend', 'couchstore', 'couchstore', [
        ['magma', 'storage backend magma is not available in this version, use couchstore'],
        ['', 'storage backend must be couchstore or magma'],
        ['disk', 'storage backend must be couchstore or magma'],
      ]),
    ],
  });
});
