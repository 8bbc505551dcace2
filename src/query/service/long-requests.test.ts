import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/node-process.ts';
import { aQueryService } from '../../../test/support/query-service.ts';

const { signal } = new AbortController();
const long = `ROWS 1 /*${'x'.repeat(40_000)}*/`;

test('long statements that wait for their turn keep no place from short ones of their user', async () => {
  const { ask, service, answerOf } = aQueryService({ servicers: 2, queueLimit: 10 });
  const turn = await service.longStatements.enter('another', signal);
  const waiting = [1, 2, 3].map(() => ask({ statement: long }));
  await eventually(() => assert.equal(service.longStatements.queued, 3));
  assert.equal((await answerOf({ statement: 'ROWS 1' })).status, 'success');
  waiting[0]?.close();
  await waiting[0]?.done;
  turn?.end();
  await Promise.all(waiting.map(({ done }) => done));
  assert.deepEqual(
    waiting.slice(1).map(({ sink }) => sink.answer.status),
    ['success', 'success'],
  );
  assert.equal((await answerOf({ statement: long })).status, 'success', 'the turn is free');
});

test('a long statement that waits for its place lets others be planned', async () => {
  const { ask, service, answerOf } = aQueryService({ servicers: 1, queueLimit: 10 });
  const running = ask({ statement: 'WAIT' });
  await eventually(() => assert.equal(service.active.all()[0]?.rows.count, 1));
  const waiting = ask({ statement: long });
  await eventually(() => assert.equal(service.admission.queued, 1));
  const turn = await service.longStatements.enter('another', signal);
  running.close();
  await running.done;
  await eventually(() => assert.equal(service.longStatements.queued, 1));
  turn?.end();
  await waiting.done;
  assert.equal(waiting.sink.answer.status, 'success');
  const cancelled = ask({ statement: long });
  cancelled.close();
  await cancelled.done;
  assert.equal((await answerOf({ statement: long })).status, 'success');
});
