import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/node-process.ts';
import { aQueryService, TestSink } from '../../../test/support/query-service.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a statement computes no rows while the client does not read', async () => {
  const { ask, service } = aQueryService();
  const sink = new TestSink();
  sink.takes = 1;
  const { done } = ask({ statement: 'ROWS 100000' }, { sink });
  await eventually(() => assert.ok(sink.text.length > 0));
  await turn();
  await turn();
  const before = service.active.all()[0]?.rows.count ?? 0;
  await turn();
  assert.equal(service.active.all()[0]?.rows.count, before);
  assert.ok(before < 20_000, `${before} rows`);
  sink.takeMore();
  await done;
  assert.equal(sink.answer.results?.length, 100_000);
});

test('a request whose client does not read ends at its timeout', async () => {
  const { ask, service, clock } = aQueryService();
  const sink = new TestSink();
  sink.takes = 1;
  const { done } = ask({ statement: 'ROWS 100000', timeout: '1s' }, { sink });
  await eventually(() => assert.ok(sink.text.length > 0));
  await turn();
  clock.advance(1_000);
  await done;
  assert.equal(service.active.count, 0);
  assert.deepEqual([sink.answer.status, sink.answer.errors?.[0]?.code], ['timeout', 1080]);
});
