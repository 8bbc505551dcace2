import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MapRequest } from '../admin.ts';
import { MapRequests, mapRequestsMax } from './map-requests.ts';

test('the number of changes that wait for the manager is bounded', async () => {
  const sent: MapRequest[] = [];
  const requests = new MapRequests((request) => void sent.push(request));
  const change = { bucketUuid: 'b', changes: [] };
  const waiting = Array.from({ length: mapRequestsMax }, () => requests.ask(change));
  assert.deepEqual(await requests.ask(change), {
    kind: 'unknown',
    reason: '1000 changes wait for the manager',
  });
  assert.equal(sent.length, mapRequestsMax);
  for (const { id } of sent) requests.answer(id, { kind: 'unknown', reason: 'down' });
  await Promise.all(waiting);
  void requests.ask(change);
  assert.equal(sent.length, mapRequestsMax + 1);
});
