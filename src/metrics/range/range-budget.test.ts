// The limits of one request, over all its items.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Clock } from '#ports/clock.ts';
import { aManager } from '../../../test/support/manager.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { Selection } from '../sample.ts';
import type { RangeNode } from './node-rows.ts';
import { RangeService } from './range.service.ts';
import { RangeBudget, rangeLimits } from './range-budget.ts';
import { RangeEvaluator } from './range-evaluator.ts';
import { type RangeRequest, readPathRequest } from './range-request.ts';

/** Each reading advances the time, so that every check finds the time slice used up. */
class BusyClock extends ManualClock {
  override monotonicMs(): number {
    this.advance(10);
    return super.monotonicMs();
  }
}

function requestOf(clock: Clock, query: Record<string, string>, functions: string[] = []): RangeRequest {
  const read = readPathRequest('kv_ops', functions, query, clock.wallMs());
  assert.ok('value' in read, JSON.stringify(read));
  return read.value;
}

/** One sample per second up to now. */
function aSelection(clock: Clock, samples: number): Selection {
  const timesMs = Float64Array.from({ length: samples }, (_, at) => clock.wallMs() - (samples - at) * 1000);
  return { series: [{ labels: { __name__: 'kv_ops' }, timesMs, values: timesMs }], problems: [] };
}

interface Case {
  limits?: Partial<typeof rangeLimits>;
  samples?: number;
  clock?: ManualClock;
}

function aService({ limits = {}, samples = 100, clock = new ManualClock() }: Case = {}) {
  const abort = new AbortController();
  const selection = aSelection(clock, samples);
  const reads = { count: 0 };
  const select = async () => {
    reads.count++;
    return selection;
  };
  const service = new RangeService({ clock });
  const evaluator = new RangeEvaluator({ source: { select }, clock });
  const node: RangeNode = { name: 'here:8091', names: [], rows: (...query) => evaluator.rows(...query) };
  const budget = new RangeBudget({ clock, signal: abort.signal, limits: { ...rangeLimits, ...limits } });
  const caller = { seesAll: true, visible: () => true, budget };
  const ask = async (query: Record<string, string>, functions?: string[]) => {
    const request = requestOf(clock, query, functions);
    const { data, errors } = JSON.parse(await service.answer(request, [node], caller));
    return { rows: data.length, error: errors[0]?.error };
  };
  return { ask, reads, abort, clock };
}

test('the item that exceeds a limit of the request is refused, and all later ones without a read', async (t) => {
  const cases: [Case, RegExp, string[]?][] = [
    [{ limits: { values: 10 } }, /^more than 10 values over all queries of the request: ask for fewer/],
    [{ limits: { samples: 150 } }, /^more than 150 samples read over all/],
    [{ limits: { windowSamples: 600 } }, /^more than 600 samples in all windows over all/, ['rate']],
    [{ limits: { answerBytes: 400 } }, /^more than 400 bytes of the answer over all/],
  ];
  t.plan(cases.length * 4);
  for (const [options, text, functions] of cases) {
    const { ask, reads } = aService(options);
    const first = await ask({}, functions);
    t.assert.deepEqual(first, { rows: 1, error: undefined });
    const second = await ask({}, functions);
    t.assert.equal(second.rows, 0);
    t.assert.match(second.error, text);
    const before = reads.count;
    await ask({}, functions);
    t.assert.equal(reads.count, before);
  }
});

test('an evaluation yields to other requests within one long window, and stops once the client has disconnected', async () => {
  const { ask, abort, clock } = aService({ samples: 20_000, clock: new BusyClock() });
  let turns = 0;
  const soon = clock.soon.bind(clock);
  clock.soon = (fire) => {
    turns++;
    if (turns === 5) abort.abort();
    soon(fire);
  };
  const query = { start: '-1000', step: '1', timeWindow: '1d' };
  const { rows, error } = await ask(query, ['avg_over_time']);
  assert.equal(rows, 0);
  assert.match(error, /abort/i);
  assert.equal(turns, 5);
});

async function aNode(t: TestContext) {
  const node = await aManager();
  t.after(() => node.manager.stop());
  await node.metrics.store.open();
  for (let step = 0; step < 20; step++) {
    const samples = Array.from({ length: 20 }, (_, at) => ({ name: `kv_m${at}`, labels: {}, value: step }));
    node.metrics.store.append(node.clock.wallMs() - (20 - step) * 10_000, samples);
  }
  return node;
}

test('the queries of one request are answered up to the limits; the errors of the others name the limit', async (t) => {
  const { request } = await aNode(t);
  const metric = [{ label: 'name', value: '.*', operator: '=~' }];
  const json = Array.from({ length: 1_000 }, () => ({ metric, start: -10_000, step: 1 }));
  const { status, text, body } = await request('/pools/default/stats/range', { method: 'POST', json });
  assert.equal(status, 200);
  assert.ok(text.length < rangeLimits.answerBytes + 1_000 * 500, `${text.length} bytes`);
  const answered = body.filter((answer: { errors: unknown[] }) => answer.errors.length === 0);
  // Twenty series of 10,001 values each.
  assert.equal(answered.length, 4);
  assert.match(body.at(-1).errors[0].error, /^more than 1000000 values over all queries of the request/);
});
