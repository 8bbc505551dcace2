// Indexes are removed although the data port accepts connections and then answers nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import type { FollowedIndex } from './followed-index.ts';
import { IndexGroup } from './index-group.ts';

test('a group stops at once while its connections wait for answers', { timeout: 20_000 }, async () => {
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
    address: { host: '127.0.0.1', port, timeoutMs: 30_000 },
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
  const startedMs = realClock.monotonicMs();
  await group.stop();
  assert.ok(realClock.monotonicMs() - startedMs < 5_000);
  for (const socket of sockets) socket.destroy();
  silent.close();
});
