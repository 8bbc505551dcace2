import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import { checkSettings, managerTarget, type Parameter } from '../../../test/support/settings-suite.ts';

const read = '/settings/autoCompaction';
const write = '/controller/setAutoCompaction';
const base = { parallelDBAndViewCompaction: 'false' };
const bothPlaces = (key: string, text: string) => ({ [key]: text, errors: { [key]: text } });

type Answer = { autoCompactionSettings: Record<string, unknown>; purgeInterval: unknown };
/** Reads a parameter from the settings: `a[b][c]` is the member `c` of `b` of `a`. */
const inside = (name: string) => (answer: never) => {
  const steps = name.split(/[[\]]+/).filter((step) => step !== '');
  const settings: unknown = (answer as Answer).autoCompactionSettings;
  return steps.reduce((value, step) => (value as Record<string, unknown> | undefined)?.[step], settings);
};

const range = (human: string, size: string, min: number, max: number | string) =>
  `${human} is too ${size}. Allowed range is ${min} - ${max}`;

const integerParameter = (
  name: string,
  human: string,
  [min, max]: [number, number],
  more: Pick<Parameter, 'missing' | 'with'>,
): Parameter => ({
  name,
  find: inside(name),
  good: [
    [`${min}`, min],
    [`${max}`, max],
  ],
  bad: [
    [`${min - 1}`, range(human, 'small', min, max)],
    [`${max + 1}`, range(human, 'large', min, max)],
    ['1.5', `${human} must be an integer`],
    ['', `${human} must be an integer`],
    ['x', `${human} must be an integer`],
  ],
  ...more,
});

const flag = (name: string, more: Pick<Parameter, 'missing' | 'with'>): Parameter => ({
  name,
  find: inside(name),
  good: [
    ['true', true],
    ['false', false],
  ],
  bad: [
    ['', `${name} is invalid`],
    ['1', `${name} is invalid`],
    ['True', `${name} is invalid`],
  ],
  ...more,
});

const size = (kind: string): Parameter => {
  const name = `${kind}FragmentationThreshold[size]`;
  const human = `${kind} fragmentation size`;
  return {
    name,
    find: inside(name),
    good: [
      ['1', 1],
      ['999999999999999', 999_999_999_999_999],
      ['undefined', 'undefined'],
    ],
    bad: [
      ['0', range(human, 'small', 1, 'infinity')],
      ['-1', range(human, 'small', 1, 'infinity')],
      ['9007199254740992', range(human, 'large', 1, Number.MAX_SAFE_INTEGER)],
      ['9'.repeat(400), range(human, 'large', 1, Number.MAX_SAFE_INTEGER)],
      ['1.5', `${human} must be an integer`],
      ['', `${human} must be an integer`],
    ],
    missing: { reads: 'undefined' },
  };
};

const percentage = (kind: string): Parameter =>
  integerParameter(`${kind}FragmentationThreshold[percentage]`, `${kind} fragmentation`, [2, 100], {
    missing: { reads: 100 },
  });

const wholeText = 'Must specify all of the following: fromHour, fromMinute, toHour, toMinute, abortOutside';
const night = { fromHour: '22', fromMinute: '59', toHour: '23', toMinute: '58', abortOutside: 'true' };

function periodParameters(name: string): Parameter[] {
  const others = (part: string) =>
    Object.fromEntries(
      Object.entries(night).flatMap(([key, value]) => (key === part ? [] : [[`${name}[${key}]`, value]])),
    );
  const missing = { text: wholeText, key: name };
  const part = (of: string, human: string, max: number) =>
    integerParameter(`${name}[${of}]`, human, [0, max], { missing, with: others(of) });
  return [
    part('fromHour', 'from hour', 23),
    part('toHour', 'to hour', 23),
    part('fromMinute', 'from minute', 59),
    part('toMinute', 'to minute', 59),
    flag(`${name}[abortOutside]`, { missing, with: others('abortOutside') }),
  ];
}

const purgeText = 'metadata purge interval';
const purgeInterval: Parameter = {
  name: 'purgeInterval',
  good: [
    ['0.04', 0.04],
    ['60', 60],
    ['0.12345678901234567', 0.123456789012346],
    ['3.0', 3],
    ['undefined', 3],
    ['7', 7],
  ],
  bad: [
    ['0.0399', range(purgeText, 'small', 0.04, 60)],
    ['60.01', range(purgeText, 'large', 0.04, 60)],
    ['1000000000000000000000', range(purgeText, 'large', 0.04, 60)],
    ['.5', `${purgeText} must be a number`],
    ['', `${purgeText} must be a number`],
    ['x', `${purgeText} must be a number`],
  ],
  missing: { reads: 7 },
};

const shared: Parameter[] = [
  flag('parallelDBAndViewCompaction', { missing: { text: 'parallelDBAndViewCompaction is missing' } }),
  ...['database', 'view'].flatMap((kind) => [percentage(kind), size(kind)]),
  ...periodParameters('allowedTimePeriod'),
  purgeInterval,
];

const dayNames = '["Sunday","Monday","Tuesday","Wednesday","Thursday","Friday","Saturday"]';
const dayText = `index circular compaction days must be one of ${dayNames}`;
const days: Parameter = {
  name: 'indexCircularCompaction[daysOfWeek]',
  find: inside('indexCircularCompaction[daysOfWeek]'),
  good: [
    ['Monday', 'Monday'],
    ['Sunday,Saturday', 'Sunday,Saturday'],
  ],
  bad: [
    ['monday', dayText],
    ['Monday, Tuesday', dayText],
    ['', dayText],
  ],
  missing: { reads: 'Sunday,Saturday' },
};

const modeText = 'index compaction mode must be one of ["standard","circular","full"]';
const indexes: Parameter[] = [
  days,
  {
    name: 'indexCompactionMode',
    find: inside('indexCompactionMode'),
    good: [
      ['circular', 'circular'],
      ['standard', 'standard'],
    ],
    bad: [
      ['', modeText],
      ['Circular', modeText],
    ],
    missing: { reads: 'standard' },
  },
  integerParameter('indexFragmentationThreshold[percentage]', 'index fragmentation', [2, 100], {
    missing: { reads: 100 },
  }),
  ...periodParameters('indexCircularCompaction[interval]'),
];

describe('the auto-compaction settings of the cluster', () => {
  it('are as published on a fresh node', async () => {
    const { request } = await aManager();
    const { status, body } = await request(read);
    assert.equal(status, 200);
    const unset = { percentage: 30, size: 'undefined' };
    assert.deepEqual(body, {
      autoCompactionSettings: {
        parallelDBAndViewCompaction: false,
        databaseFragmentationThreshold: unset,
        viewFragmentationThreshold: unset,
        indexCompactionMode: 'circular',
        indexCircularCompaction: {
          daysOfWeek: 'Sunday,Monday,Tuesday,Wednesday,Thursday,Friday,Saturday',
          interval: { fromHour: 0, toHour: 0, fromMinute: 0, toMinute: 0, abortOutside: false },
        },
        indexFragmentationThreshold: { percentage: 30 },
      },
      purgeInterval: 3,
    });
  });

  test('keep both limits of every range over restarts, and refuse values beyond them', async (t) => {
    await using target = await managerTarget();
    await checkSettings(t, target, { write, read, base, refusal: bothPlaces, parameters: [...shared, days] });
  });

  test('of indexes are validated and stored by the community edition', async (t) => {
    await using target = await managerTarget({ edition: 'community' });
    await checkSettings(t, target, { write, read, base, refusal: bothPlaces, parameters: indexes });
  });

  it('of indexes are ignored by the enterprise edition, except the days', async () => {
    const { request } = await aManager();
    const before = (await request(read)).body;
    const form = {
      ...base,
      indexCompactionMode: 'full',
      'indexCircularCompaction[interval][fromHour]': '99',
    };
    assert.equal((await request(write, { form })).status, 200);
    assert.deepEqual((await request(read)).body, before);
    const wrong = await request(write, { form: { ...form, indexCompactionMode: 'x' } });
    assert.deepEqual([wrong.status, Object.keys(wrong.body.errors)], [400, ['indexCompactionMode']]);
  });

  it('are changed with an empty list as answer, and with just_validate only validated', async () => {
    const { request } = await aManager();
    const form = { ...base, purgeInterval: '9' };
    assert.deepEqual((await request(`${write}?just_validate=1`, { form })).body, { errors: {} });
    assert.equal((await request(read)).body.purgeInterval, 3);
    assert.deepEqual((await request(write, { form })).body, []);
    assert.equal((await request(read)).body.purgeInterval, 9);
  });

  it('keep a number that was not sent, ignore a misspelled name, and unset a number on request', async () => {
    const { request } = await aManager();
    const threshold = 'databaseFragmentationThreshold';
    const size = { [`${threshold}[size]`]: '5' };
    await request(write, { form: { ...base, ...size } });
    const form = {
      ...base,
      [`${threshold}[sise]`]: '5',
      unknown: '1',
      [`${threshold}[percentage]`]: 'undefined',
    };
    assert.equal((await request(write, { form })).status, 200);
    const readSettings = async () => (await request(read)).body.autoCompactionSettings[threshold];
    assert.deepEqual(await readSettings(), { percentage: 'undefined', size: 5 });
    await request(write, { form: { ...base, [`${threshold}[size]`]: 'undefined' } });
    assert.deepEqual(await readSettings(), { percentage: 'undefined', size: 'undefined' });
  });

  it('refuse a threshold without brackets, and a period that ends when it begins', async () => {
    const { request } = await aManager();
    const bare = await request(write, { form: { ...base, viewFragmentationThreshold: '30' } });
    assert.deepEqual(
      [bare.status, bare.body.errors],
      [400, { _: 'Got unsupported fields: viewFragmentationThreshold' }],
    );
    const same = { fromHour: '1', fromMinute: '2', toHour: '1', toMinute: '2', abortOutside: 'false' };
    const period = Object.entries(same).map(([part, value]) => [`allowedTimePeriod[${part}]`, value]);
    const form = { ...base, ...Object.fromEntries(period) };
    assert.deepEqual((await request(write, { form })).body.errors, {
      allowedTimePeriod: 'Start time must not be the same as end time',
    });
  });

  it('lose their period if a change has none', async () => {
    const { request } = await aManager();
    const period = Object.entries(night).map(([part, value]) => [`allowedTimePeriod[${part}]`, value]);
    await request(write, { form: { ...base, ...Object.fromEntries(period) } });
    assert.equal((await request(read)).body.autoCompactionSettings.allowedTimePeriod.fromHour, 22);
    await request(write, { form: base });
    assert.equal('allowedTimePeriod' in (await request(read)).body.autoCompactionSettings, false);
  });

  it('are set by full and cluster administrators, and read by read-only administrators', async () => {
    const { request } = await aManager();
    const roles = ['admin', 'cluster_admin', 'ro_admin', 'bucket_admin[*]', 'security_admin_local'];
    for (const [index, role] of roles.entries()) {
      const form = { roles: role, password: 'password' };
      const created = await request(`/settings/rbac/users/local/u${index}`, { method: 'PUT', form });
      assert.equal(created.status, 200, role);
    }
    const statuses = async (url: string, form?: Record<string, string>) =>
      Promise.all(
        roles.map(
          async (_, i) => (await request(url, { as: `u${i}:password`, ...(form && { form }) })).status,
        ),
      );
    assert.deepEqual(await statuses(read), [200, 200, 200, 403, 403]);
    assert.deepEqual(await statuses(write, base), [200, 200, 403, 403, 403]);
    assert.equal((await request('/settings/autoCompactions')).status, 404);
  });
});

describe('the auto-compaction settings of a bucket', () => {
  const bucket = '/pools/default/buckets/b';
  const bucketSettings = { autoCompactionDefined: 'true', ...base };
  const make = async () => {
    const manager = await aManager();
    await manager.request('/pools/default/buckets', {
      form: { name: 'b', ramQuotaMB: '100', replicaNumber: '0' },
    });
    return manager;
  };

  it('copy omitted values from the cluster, independent of its later changes', async () => {
    const { request } = await make();
    const settings = { 'databaseFragmentationThreshold[percentage]': '44', purgeInterval: '9' };
    await request(write, { form: { ...base, ...settings } });
    assert.equal((await request(bucket)).body.autoCompactionSettings, false);
    assert.equal((await request(bucket, { form: bucketSettings })).status, 200);
    await request(write, {
      form: { ...base, 'databaseFragmentationThreshold[percentage]': '55', purgeInterval: '8' },
    });
    const { autoCompactionSettings, purgeInterval } = (await request(bucket)).body;
    assert.equal(autoCompactionSettings.databaseFragmentationThreshold.percentage, 44);
    assert.equal(purgeInterval, 9);
  });

  it('can be removed again, and require parallelDBAndViewCompaction', async () => {
    const { request } = await make();
    await request(bucket, { form: bucketSettings });
    const refused = await request(bucket, { form: { autoCompactionDefined: 'true' } });
    assert.deepEqual(refused.body.errors, {
      parallelDBAndViewCompaction: 'parallelDBAndViewCompaction is missing',
    });
    await request(bucket, { form: { autoCompactionDefined: 'false' } });
    assert.equal((await request(bucket)).body.autoCompactionSettings, false);
  });

  test('keep both limits of every range over restarts, and refuse values beyond them', async (t) => {
    await using target = await managerTarget();
    await target.send('POST', '/pools/default/buckets', { name: 'b', ramQuotaMB: '100', replicaNumber: '0' });
    for (const { name, good = [], bad = [], find, with: more } of shared) {
      const present = async () => {
        const { body } = await target.send('GET', bucket);
        return find ? find(body as never) : (body as Answer).purgeInterval;
      };
      for (const [sent, reads] of good) {
        const { status } = await target.send('POST', bucket, { ...bucketSettings, ...more, [name]: sent });
        t.assert.equal(status, 200, `${name}=${sent}`);
        t.assert.equal(await present(), reads, `${name}=${sent}`);
        await target.restart();
        t.assert.equal(await present(), reads, `${name}=${sent} after a restart`);
      }
      const before = await present();
      for (const [sent, text] of bad) {
        const { status, body } = await target.send('POST', bucket, {
          ...bucketSettings,
          ...more,
          [name]: sent,
        });
        t.assert.deepEqual([status, (body as { errors: unknown }).errors], [400, { [name]: text }]);
      }
      t.assert.equal(await present(), before, name);
    }
  });
});
