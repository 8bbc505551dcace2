import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyRequest } from '../request/query-request.ts';
import { newRequest } from './active-requests.ts';
import { CompletedRequests, completedBytesMax } from './completed-requests.ts';

function aRequest(id: string, statement: string) {
  const arrived = {
    id,
    remoteAddress: '::1',
    userAgent: '',
    requestTimeMs: 0,
    receivedMs: 0,
    cancel: () => {},
  };
  const request = { ...emptyRequest(), statement, positional: ['a value'] };
  return { active: { ...newRequest(arrived), request }, elapsedMs: 1, serviceMs: 1 };
}

const idsOf = (completed: CompletedRequests) => completed.all().map(({ active }) => active.id);

test('the oldest requests are removed above the limits on number and bytes', () => {
  const completed = new CompletedRequests();
  for (const id of ['1', '2', '3']) completed.add(aRequest(id, 'SELECT 1'), 2);
  assert.deepEqual(idsOf(completed), ['2', '3']);
  const third = 'x'.repeat(completedBytesMax / 6);
  for (const id of ['4', '5', '6']) completed.add(aRequest(id, third), 100);
  assert.deepEqual(idsOf(completed), ['5', '6']);
  assert.equal(completed.delete('5'), true);
  completed.add(aRequest('7', third), 100);
  assert.deepEqual(idsOf(completed), ['6', '7'], 'a deleted request does not count');
  completed.add(aRequest('8', 'x'.repeat(completedBytesMax)), 100);
  assert.deepEqual(idsOf(completed), ['6', '7'], 'a request that is larger than the limit is not kept');
});

test('completed requests keep neither values of parameters nor the function that cancels the request', () => {
  const completed = new CompletedRequests();
  completed.add(aRequest('1', 'SELECT $1'), 1);
  const [kept] = completed.all();
  assert.equal(kept?.active.request?.statement, 'SELECT $1');
  assert.doesNotMatch(JSON.stringify(kept), /a value/);
  assert.equal('cancel' in (kept?.active ?? {}), false);
});
