// Indexes are removed although the data port accepts connections and then answers nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { nextTurn, realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import type { FollowedIndex } from './followed-index.ts';
import { IndexGroup } from './index-group.ts';

test('a group stops at once while its connections wait for answers', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => {
    socket.on('error', () => {});
    sockets.push(socket);
  });
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const index = { collectionId: 8, hasChanges: false, needsTarget: true, markUnconfirmed() {} };
  const group = new IndexGroup({
    address: { host: '127.0.0.1', port, timeoutMs: 600_000 },
    account: { username: 'a', password: 'b' },
    bucket: 'b',
    routes: null,
    name: 'test',
    indexes: [index as unknown as FollowedIndex],
    clock: realClock,
    log: silentLog,
    changed: () => {},
    broken: () => {},
  });
  group.start();
  while (sockets.length < 2) await once(silent, 'connection');
  let hasStopped = false;
  const stopped = group.stop().then(() => {
    hasStopped = true;
  });
  await nextTurn(realClock);
  const stoppedAtOnce = hasStopped;
  for (const socket of sockets) socket.destroy();
  silent.close();
  await stopped;
  assert.ok(stoppedAtOnce, 'the group waited for its connections');
});
