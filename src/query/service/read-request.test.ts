import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { aQueryService } from '../../../test/support/query-service.ts';

/** A service whose clock advances by a millisecond each time it is read. */
function aServiceInTime() {
  const service = aQueryService();
  const { clock } = service;
  const monotonicMs = clock.monotonicMs.bind(clock);
  clock.monotonicMs = () => {
    clock.advance(1);
    return monotonicMs();
  };
  return service;
}
const large = Array.from({ length: 40_000 }, (_, id) => ({ id, name: `name ${id}` }));

test('other requests are answered while the parameters of a large request are read', async () => {
  const { ask, answerOf } = aServiceInTime();
  const answered: string[] = [];
  const { sink, done } = ask({ statement: 'ROWS 1', args: [large] });
  const ofLarge = done.then(() => answered.push('large'));
  for (let round = 0; round < 3; round++) {
    await answerOf({ statement: 'ROWS 1' });
    answered.push('short');
  }
  await ofLarge;
  assert.deepEqual(answered, ['short', 'short', 'short', 'large']);
  assert.equal(sink.answer.status, 'success');
});

test('a large request passes its parameters on, and is not read further when its client is gone', async () => {
  const { ask, answerOf, service } = aServiceInTime();
  const { results } = await answerOf({ statement: 'ARGS', args: [large] });
  assert.ok(isDeepStrictEqual(results?.[0], [large]));
  const { done, close, sink } = ask({ statement: 'ROWS 1', args: [large] });
  close();
  await done;
  assert.equal(sink.text, '');
  assert.equal(service.active.count, 0);
});
