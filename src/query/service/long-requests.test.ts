import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/node-process.ts';
import { aQueryService } from '../../../test/support/query-service.ts';
import { longLengthMin } from '../state/long-statements.ts';

// The statements are those of `fake-engine.ts`; long ones are made long by a comment.
const { signal } = new AbortController();
const comment = `/*${'x'.repeat(longLengthMin)}*/`;
const long = `ROWS 1 ${comment}`;

test('long statements that wait for their turn take no places from short statements of the same user', async () => {
  const { ask, service, answerOf } = aQueryService({ servicers: 2, queueLimit: 10 });
  const turn = await service.longStatements.enter('another user', signal);
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

test('while a long statement waits for a place, other long statements are planned', async () => {
  const { ask, service, answerOf } = aQueryService({ servicers: 1, queueLimit: 10 });
  const running = ask({ statement: 'WAIT' });
  await eventually(() => assert.equal(service.active.all()[0]?.rows.count, 1));
  const waiting = ask({ statement: long });
  await eventually(() => assert.equal(service.admission.queued, 1));
  const turn = await service.longStatements.enter('another user', signal);
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

/** A service whose engine plans long statements in three steps, and calls `between` after the first and the second. A timer advances its clock. */
function aSteppedService(between: (service: ReturnType<typeof aQueryService>) => unknown) {
  const service = aQueryService({ servicers: 4, queueLimit: 10 });
  const { engine, clock } = service;
  engine.prepareSteps = function* (text, context) {
    for (let step = 0; step < 2; step++) {
      clock.advance(10);
      between(service);
      yield;
    }
    return this.prepare(text, context);
  };
  const advancing = setInterval(() => clock.advance(5), 1);
  return { ...service, [Symbol.dispose]: () => clearInterval(advancing) };
}

test('short requests are answered between the steps in which a long statement is planned', async () => {
  const answered: string[] = [];
  using stepped = aSteppedService(({ answerOf }) =>
    answerOf({ statement: 'ROWS 1' }).then(() => answered.push('short')),
  );
  const { sink, done } = stepped.ask({ statement: long, profile: 'phases' });
  await done.then(() => answered.push('long'));
  assert.equal(sink.answer.status, 'success');
  assert.deepEqual(answered, ['short', 'short', 'long']);
});

test('a long statement is planned again when definitions change during its planning, the last time without pauses', async () => {
  let changes = 0;
  using stepped = aSteppedService(({ keyspaces }) => {
    if (changes-- > 0) keyspaces.set([]);
  });
  const { answerOf, engine } = stepped;
  // Each plan has two pauses, after each of which the definitions may change once.
  for (const [changed, plans] of [
    [0, 1],
    [1, 2],
    [2, 2],
    [3, 3],
    [1000, 4],
  ] as const) {
    changes = changed;
    engine.prepares = 0;
    assert.equal((await answerOf({ statement: long })).status, 'success');
    assert.equal(engine.prepares, plans, `${changed} changes`);
  }
});

test('a long prepared statement waits for its turn only while its plan is outdated, and can be cancelled then', async () => {
  using stepped = aSteppedService(() => {});
  const { ask, answerOf, service, keyspaces } = stepped;
  await answerOf({ statement: `PREPARE p FROM ${long}` });
  const turn = await service.longStatements.enter('another user', signal);
  assert.equal(
    (await answerOf({ prepared: 'p' })).status,
    'success',
    'definitions have not changed since it was planned',
  );
  keyspaces.set([]);
  const waiting = [{ prepared: 'p' }, { prepared: 'p' }, { statement: 'EXECUTE p' }].map((fields) =>
    ask(fields),
  );
  await eventually(() => assert.equal(service.longStatements.queued, 3));
  const [cancelled, ...others] = waiting;
  cancelled?.close();
  await cancelled?.done;
  turn?.end();
  await Promise.all(others.map(({ done }) => done));
  assert.deepEqual(
    others.map(({ sink }) => sink.answer.status),
    ['success', 'success'],
  );
  assert.equal((await answerOf({ statement: long })).status, 'success', 'the turn is free');
});

test('a long EXECUTE runs a long prepared statement whose plan is outdated', async () => {
  using stepped = aSteppedService(() => {});
  const { answerOf, engine, keyspaces } = stepped;
  await answerOf({ statement: `PREPARE p FROM ${long}` });
  keyspaces.set([]);
  engine.prepares = 0;
  const statement = `EXECUTE p ${comment}`;
  assert.equal((await answerOf({ statement, timeout: '5s' })).status, 'success');
  assert.equal(engine.prepares, 2);
});

test('a long statement that is cancelled while it is planned gives its turn to the next one', async () => {
  let close: (() => void) | undefined;
  using stepped = aSteppedService(() => close?.());
  const asked = stepped.ask({ statement: long });
  close = asked.close;
  await asked.done;
  close = undefined;
  assert.ok(!asked.sink.text.includes('success'));
  assert.equal((await stepped.answerOf({ statement: long })).status, 'success');
});

test('ADVISOR plans long statements in steps, in their turn', async () => {
  const answered: string[] = [];
  let [changes, steps] = [0, 0];
  using stepped = aSteppedService(({ answerOf, keyspaces }) => {
    steps++;
    if (changes-- > 0) keyspaces.set([]);
    return answerOf({ statement: 'ROWS 1' }).then(() => answered.push('short'));
  });
  const { ask, answerOf, service } = stepped;
  const turn = await service.longStatements.enter('another user', signal);
  const asked = ask({ statement: 'ADVISOR', args: [long] });
  await eventually(() => assert.equal(service.longStatements.queued, 1));
  turn?.end();
  await asked.done.then(() => answered.push('advisor'));
  assert.deepEqual(asked.sink.answer.results, [{}]);
  assert.deepEqual(answered, ['short', 'short', 'advisor']);
  assert.equal((await answerOf({ statement: long })).status, 'success', 'the turn is free');
  [changes, steps] = [1000, 0];
  const advice = await answerOf({ statement: 'ADVISOR', args: [[long, 'ROWS 1', 'x'.repeat(2 << 20)]] });
  assert.equal(steps, 6, 'three plans were outdated, the fourth had no steps');
  const [{ errors = [] } = {}] = advice.results as { errors?: { error: string }[] }[];
  assert.equal(errors.length, 1);
  assert.match(errors[0]?.error ?? '', /longer than 1048576 bytes/);
});
