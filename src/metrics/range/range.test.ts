import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Labels } from '#metrics/sample.ts';
import type { Clock } from '#ports/clock.ts';
import { aManager } from '../../../test/support/manager.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { derivedNames } from '../query/derived.ts';
import type { RangeNode } from './node-rows.ts';
import { Range, valueText } from './range.contract.ts';
import { RangeService } from './range.service.ts';
import { RangeBudget } from './range-budget.ts';
import { RangeEvaluator, type RangeSource } from './range-evaluator.ts';
import { readPathRequest } from './range-request.ts';

const root = '/pools/default/stats/range';
const stepMs = 10_000;

/** A node whose store has two minutes of a counter (it grows by 20 per second in bucket a, by 40 in b) and of a gauge. */
async function aNode(t: TestContext) {
  const node = await aManager();
  t.after(() => node.manager.stop());
  for (const name of ['a', 'b'])
    assert.equal(
      (await node.request('/pools/default/buckets', { form: { name, ramQuotaMB: 100 } })).status,
      202,
    );
  const { store } = node.metrics;
  await store.open();
  const endMs = Math.floor(node.clock.wallMs() / stepMs) * stepMs;
  for (let step = 0; step <= 12; step++) {
    const samples = (['a', 'b'] as const).map((bucket, at) => ({
      name: 'kv_ops',
      labels: { bucket, op: 'get' },
      value: 1000 + step * 200 * (at + 1),
    }));
    store.append(endMs - (12 - step) * stepMs, [
      ...samples,
      { name: 'sys_mem_free', labels: {}, value: 5e9 },
    ]);
  }
  const ask = async (path: string, sent = {}) => {
    const answer = await node.request(path.startsWith('/') ? path : `${root}/${path}`, sent);
    return { status: answer.status, json: JSON.parse(answer.text || 'null'), text: answer.text };
  };
  return { ...node, ask, end: endMs / 1000 };
}

const aCaller = (clock: Clock, signal = new AbortController().signal) => ({
  seesAll: true,
  visible: () => true,
  budget: new RangeBudget({ clock, signal }),
});

function aRangeNode(select: RangeSource['select'], clock: Clock): RangeNode {
  const evaluator = new RangeEvaluator({ source: { select }, clock });
  return { name: 'here:8091', names: ['here:8091'], rows: (...query) => evaluator.rows(...query) };
}

interface Found {
  metric: Labels;
  values: [number, string][];
}

const summaryOf = (data: Found[]) =>
  data.map(({ metric, values }) => [metric['bucket'] ?? '', values.length, values.at(-1)?.[1]]);

test('a query returns the last minute of a metric, one series per set of labels', async (t) => {
  const { ask, end } = await aNode(t);
  const { status, json } = await ask(`kv_ops?end=${end}`);
  assert.equal(status, 200);
  assert.deepEqual([json.errors, json.startTimestamp, json.endTimestamp], [[], end - 60, end]);
  assert.deepEqual(summaryOf(json.data), [
    ['a', 7, '3400'],
    ['b', 7, '5800'],
  ]);
  assert.deepEqual(Object.keys(json.data[0].metric).sort(), ['bucket', 'name', 'nodes', 'op']);
  assert.deepEqual(json.data[0].values[0], [end - 60, '2200']);
});

test('functions are applied from left to right, to the series that the labels select', async (t) => {
  const { ask, end } = await aNode(t);
  const last = async (path: string) => summaryOf((await ask(`${path}end=${end}`)).json.data);
  assert.deepEqual(await last('kv_ops/rate?'), [
    ['a', 7, '20'],
    ['b', 7, '40'],
  ]);
  assert.deepEqual(await last('kv_ops/rate?bucket=b&'), [['b', 7, '40']]);
  assert.deepEqual(await last('kv_ops/rate/sum?'), [['', 7, '60']]);
  assert.deepEqual(await last('kv_ops/irate/max?timeWindow=1m&step=30s&'), [['', 3, '40']]);
  assert.deepEqual(await last('kv_ops/sum?start=-20&'), [['', 3, '9200']]);
  assert.deepEqual(await last(`kv_ops/count?start=${end - 10}&aggregationFunction=sum&`), [['', 2, '2']]);
});

test('the errors of an answer say why there is no result', async (t) => {
  const { ask, end } = await aNode(t);
  const error = async (path: string) => {
    const { status, json } = await ask(path);
    assert.deepEqual([status, json.data, json.errors.length], [200, [], 1], JSON.stringify(json));
    assert.match(json.errors[0].node, /^127\.0\.0\.1:\d+$/);
    return json.errors[0].error;
  };
  assert.equal(await error('absent'), 'unknown metric "absent"');
  assert.match(await error('kv_ops/nonsense'), /^malformed function expression: unknown function "nonsense"/);
  assert.match(await error('kv_ops/sum/rate'), /^malformed function expression: "rate" needs a range/);
  assert.match(await error('kv_ops/p0'), /malformed/);
  assert.match(await error('kv_ops/p100'), /malformed/);
  assert.match(await error(`kv_ops${'/sum'.repeat(11)}`), /more than 10 functions/);
  for (const label of ['color', 'constructor', 'toString'])
    assert.equal(await error(`kv_ops?${label}=red&end=${end}`), `metric "kv_ops" has no label "${label}"`);
  assert.match(await error('kv_ops?start=-200000&step=1'), /larger step/);
});

test('timeouts and damaged files are in the errors of an answer', async () => {
  const clock = new ManualClock();
  const request = readPathRequest('kv_ops', [], { timeout: '50' }, clock.wallMs());
  assert.ok('value' in request);
  const caller = aCaller(clock);
  const service = new RangeService({ clock });
  const stuck = aRangeNode(() => new Promise(() => {}), clock);
  const pendingAnswer = service.answer(request.value, [stuck], caller);
  clock.advance(50);
  assert.deepEqual(JSON.parse(await pendingAnswer).errors, [
    { node: 'here:8091', error: 'Request timed out' },
  ]);
  const series = [{ labels: {}, timesMs: new Float64Array(), values: new Float64Array() }];
  const select = async () => ({ series, problems: ['metrics file 7.block: its table is damaged'] });
  const answer = await service.answer(request.value, [aRangeNode(select, clock)], caller);
  assert.deepEqual(JSON.parse(answer).errors, [
    { node: 'here:8091', error: 'metrics file 7.block: its table is damaged' },
  ]);
  assert.equal(clock.pending, 0);
});

test('invalid paths and parameters are refused', async (t) => {
  const { ask } = await aNode(t);
  const { status, json } = await ask(root);
  assert.deepEqual([status, json.status], [404, 404]);
  assert.match(json.msg, /names no metric/);
  const cases: [string, string, string][] = [
    ['start=x', 'start', 'The value must be an integer'],
    ['end=1000000000000000000000', 'end', 'The value must be in range from -253402300799 to 253402300799'],
    ['end=1.5', 'end', 'The value must be an integer'],
    ['start=200&end=100', 'end', 'should be greater or equal than start'],
    ['step=10q', 'step', 'not a valid duration string'],
    ['step=10constructor', 'step', 'not a valid duration string'],
    ['step=0', 'step', 'must be greater than 1ms'],
    ['timeWindow=-5', 'timeWindow', 'not a valid duration string'],
    ['timeout=0', 'timeout', 'The value must be in range from 1 to 300000'],
    ['timeout=300001', 'timeout', 'The value must be in range from 1 to 300000'],
    ['alignTimestamps=yes', 'alignTimestamps', 'The value must be one of the following: [true,false]'],
    [
      'start=101&end=109&alignTimestamps=true',
      'start',
      `[start, end] interval doesn't contain any aligned datapoints`,
    ],
    ['nodes=elsewhere', 'nodes', 'Unknown hostnames: ["elsewhere"]'],
    ['aggregationFunction=median', 'aggregationFunction', 'invalid aggregation function'],
    [
      'nodesAggregation=special',
      'nodesAggregation',
      `'special' aggregation is not available for non-derived metric`,
    ],
  ];
  for (const [query, field, text] of cases) {
    const refused = await ask(`kv_ops?${query}`);
    assert.deepEqual([refused.status, refused.json], [400, { errors: { [field]: text } }], query);
  }
  for (const fine of ['step=2ms', 'timeout=1', 'timeout=300000', 'step=1.5m', 'timeWindow=1w'])
    assert.equal((await ask(`kv_ops?${fine}`)).status, 200, fine);
});

test('timestamps are aligned to multiples of ten seconds on request', async (t) => {
  const { ask, end } = await aNode(t);
  const { json } = await ask(`kv_ops?start=${end - 57}&end=${end}&alignTimestamps=true&bucket=a`);
  assert.deepEqual(
    json.data[0].values.map(([at]: [number]) => at),
    [50, 40, 30, 20, 10, 0].map((ago) => end - ago),
  );
});

test('a query returns only series of buckets that the caller may read', async (t) => {
  const { ask, request, end } = await aNode(t);
  for (const [user, roles] of [
    ['limited', 'bucket_admin[a]'],
    ['none', 'sync_gateway_replicator[*]'],
  ] as const)
    await request(`/settings/rbac/users/local/${user}`, {
      method: 'PUT',
      form: { password: 'secret1', roles },
    });
  const as = 'limited:secret1';
  assert.deepEqual(summaryOf((await ask(`kv_ops?end=${end}`, { as })).json.data), [['a', 7, '3400']]);
  assert.deepEqual(summaryOf((await ask(`kv_ops/sum?end=${end}`, { as })).json.data), [['', 7, '3400']]);
  assert.deepEqual((await ask(`kv_ops?bucket=b&end=${end}`, { as })).json.data, []);
  assert.deepEqual((await ask(`sys_mem_free?end=${end}`, { as })).json.data, []);
  assert.equal((await ask('kv_ops', { as: 'none:secret1' })).status, 403);
});

test('a list of ranges is answered in the order of the request', async (t) => {
  const { ask, end } = await aNode(t);
  const json = [
    { metric: [{ label: 'name', value: 'kv_ops' }], applyFunctions: ['rate', 'sum'], end },
    {
      metric: [
        { label: 'name', value: 'kv_ops' },
        { label: 'bucket', value: ['b'], operator: 'any' },
      ],
      end,
      step: 60,
    },
    {
      metric: [
        { label: 'name', value: 'kv_.*', operator: '=~' },
        { label: 'bucket', value: 'b', operator: '!=' },
      ],
      end: String(end),
    },
    { metric: [{ label: 'name', value: 'absent' }] },
  ];
  const answer = await ask(root, { method: 'POST', json });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(
    answer.json.map(({ data }: { data: Found[] }) => summaryOf(data)),
    [[['', 7, '60']], [['b', 2, '5800']], [['a', 7, '3400']], []],
  );
  assert.equal(answer.json[3].errors[0].error, 'unknown metric "absent"');
});

test('a refused list names the problems of each object', async (t) => {
  const { ask } = await aNode(t);
  const metric = (label: object) => ({ metric: [{ label: 'name', value: 'x', ...label }] });
  const cases: [unknown, Record<string, string>][] = [
    [{}, { metric: 'The value must be supplied' }],
    [{ metric: [] }, { metric: 'must not be empty' }],
    [{ metric: ['x'] }, { metric: 'must be a list of JSON objects' }],
    [{ metric: [{ label: 'name' }] }, { metric: "all metric labels must contain 'label' and 'value' keys" }],
    [metric({ colour: 1 }), { metric: 'unknown label prop: colour' }],
    [metric({ operator: '<' }), { metric: 'invalid operator: <' }],
    [metric({ value: 1 }), { metric: 'label value for name must be a string' }],
    [
      metric({ value: '(a+)+', operator: '=~' }),
      {
        metric:
          'label value for name: patterns may not contain repeated groups, back-references or look-around',
      },
    ],
    [metric({ value: '(', operator: '!~' }), { metric: 'label value for name: not a valid pattern' }],
    [{ ...metric({}), applyFunctions: 'rate' }, { applyFunctions: 'invalid list of functions' }],
    [{ ...metric({}), colour: 1 }, { colour: 'Unsupported key' }],
    [
      { ...metric({}), start: 'x', step: {} },
      { start: 'The value must be an integer', step: 'The value must be a string' },
    ],
    ['text', { _: 'Unexpected Json' }],
  ];
  const answer = await ask(root, { method: 'POST', json: cases.map(([item]) => item) });
  assert.deepEqual([answer.status, answer.json], [400, { errors: cases.map(([, problems]) => problems) }]);
  for (const json of [{}, 'text', null]) {
    const posted = await ask(root, { method: 'POST', json });
    assert.deepEqual(
      [posted.status, posted.json],
      [400, { errors: [{ _: 'A Json array must be specified.' }] }],
    );
  }
});

test('values in answers are decimals', () => {
  const cases: [number, string][] = [
    [0, '0'],
    [-1.5, '-1.5'],
    [1e21, '1000000000000000000000'],
    [1.25e22, '12500000000000000000000'],
    [1e-7, '0.0000001'],
    [-2.5e-8, '-0.000000025'],
    [Number.NaN, 'NaN'],
    [Infinity, '+Inf'],
    [-Infinity, '-Inf'],
  ];
  assert.deepEqual(
    cases.map(([value]) => valueText(value)),
    cases.map(([, text]) => text),
  );
});

/** Reads of two buckets with hit ratios of a half and three quarters; the second bucket has three times as many. */
async function withReads(t: TestContext) {
  const node = await aNode(t);
  const { store } = node.metrics;
  const startMs = node.end * 1000 + stepMs;
  for (let step = 0; step <= 6; step++) {
    const grown = (labels: Labels, perStep: number) => ({
      name: 'kv_ops',
      labels,
      value: 50 + step * perStep,
    });
    const timed = (suffix: string, perStep: number) => ({
      name: `kv_disk_seconds_${suffix}`,
      labels: { bucket: 'b', op: 'commit' },
      value: step * perStep,
    });
    store.append(startMs + step * stepMs, [
      grown({ bucket: 'a', op: 'get', result: 'hit' }, 50),
      grown({ bucket: 'a', op: 'get', result: 'miss' }, 50),
      grown({ bucket: 'b', op: 'get', result: 'hit' }, 225),
      grown({ bucket: 'b', op: 'get', result: 'miss' }, 75),
      grown({ bucket: 'b', op: 'set' }, 1000),
      { name: 'kv_ep_bg_fetched', labels: { bucket: 'b' }, value: step * 3 },
      ...(['a', 'b'] as const).flatMap((bucket) => [
        { name: 'kv_vb_curr_items', labels: { bucket, state: 'active' }, value: bucket === 'a' ? 0 : 200 },
        {
          name: 'kv_vb_num_non_resident',
          labels: { bucket, state: 'active' },
          value: bucket === 'a' ? 0 : 50,
        },
      ]),
      timed('sum', 2),
      timed('count', 100),
    ]);
  }
  const end = startMs / 1000 + 60;
  const last = async (path: string, query = '') => {
    const { json } = await node.ask(`${path}?start=${end}&end=${end}${query}`);
    assert.deepEqual(json.errors, [], path);
    return summaryOf(json.data).map(([bucket, , value]) => [bucket, Number(value)]);
  };
  return { ...node, end, last };
}

test('derived metrics are computed from their sources, to which functions are applied', async (t) => {
  const { last, ask, end } = await withReads(t);
  assert.deepEqual(await last('kv_hit_ratio/rate'), [
    ['a', 50],
    ['b', 75],
  ]);
  assert.deepEqual(await last('kv_hit_ratio/rate/sum'), [['', (100 * 275) / 400]]);
  assert.deepEqual(await last('kv_hit_ratio/rate', '&bucket=b'), [['b', 75]]);
  assert.deepEqual(await last('kv_ep_cache_miss_ratio/increase'), [['b', 1]]);
  assert.deepEqual(await last('kv_avg_disk_time_seconds'), [['b', 0.02]]);
  assert.deepEqual(await last('kv_vb_resident_items_ratio'), [
    ['a', 100],
    ['b', 75],
  ]);
  const { json } = await ask(`kv_vb_resident_items_ratio?bucket=b&end=${end}`);
  const { nodes, ...labels } = json.data[0].metric;
  assert.deepEqual(labels, { name: 'kv_vb_resident_items_ratio', bucket: 'b', state: 'active' });
  const metric = [{ label: 'name', value: 'kv_hit_ratio' }];
  const item = { metric, applyFunctions: ['rate'], start: end, end, nodesAggregation: 'special' };
  const [listed] = (await ask(root, { method: 'POST', json: [item] })).json;
  assert.deepEqual(summaryOf(listed.data), [
    ['a', 1, '50'],
    ['b', 1, '75'],
  ]);
});

test('derived metrics are computed only from series that the caller may read', async (t) => {
  const { request, ask, end } = await withReads(t);
  const form = { password: 'password', roles: 'bucket_admin[b]' };
  await request('/settings/rbac/users/local/ba', { method: 'PUT', form });
  const { json } = await ask(`kv_hit_ratio/rate/sum?end=${end}&start=${end}`, { as: 'ba:password' });
  assert.deepEqual(summaryOf(json.data), [['', 1, '75']]);
});

test('the aggregation "special" combines the sources of derived metrics', async (t) => {
  const { last } = await withReads(t);
  assert.deepEqual(await last('kv_hit_ratio/rate', '&bucket=b&nodesAggregation=special'), [['b', 75]]);
  assert.deepEqual(await last('kv_hit_ratio/rate', '&bucket=b&aggregationFunction=avg'), [['b', 75]]);
});

test('the reference page names every derived metric', () => {
  assert.deepEqual(
    derivedNames.filter((name) => !Range.doc.includes(`\`${name}\``)),
    [],
  );
});

test('a derived metric without sources has no series', async (t) => {
  const { ask, end } = await aNode(t);
  const { status, json } = await ask(`kv_xdc_ops?end=${end}`);
  assert.deepEqual([status, json.data, json.errors], [200, [], []]);
});
