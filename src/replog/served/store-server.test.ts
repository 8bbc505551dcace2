import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryConfigStore } from '../memory-config-store.ts';
import { SwitchingConfigStore } from '../switching-config-store.ts';
import type { Channel, FounderReply, FounderRequest } from './channel.ts';
import { StoreServer } from './store-server.ts';

/** Until promises that are resolved have run their callbacks. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A founder whose store can be held, and a function that sends a request of a node. */
async function aFounder() {
  const store = new SwitchingConfigStore(new MemoryConfigStore());
  const server = new StoreServer({ store, identity: 'the cluster', bootId: 'boot' });
  await server.start();
  const replies: FounderReply[] = [];
  const state = { isClosed: false };
  let receive: (message: unknown) => void = () => {};
  const channel: Channel = {
    send: (reply) => {
      if (JSON.stringify(reply).includes('too large')) throw new Error('the message is too large');
      replies.push(reply as FounderReply);
    },
    receive: ({ message }) => {
      receive = message;
    },
    close: () => {
      state.isClosed = true;
    },
  };
  server.serve(channel);
  const send = (request: FounderRequest) => receive(request);
  const answerTo = (id: number): unknown => {
    const found = replies.find((reply) => 'id' in reply && reply.id === id);
    assert.ok(found !== undefined && 'value' in found, JSON.stringify(found));
    return found.value;
  };
  return { store, server, channel, send, receive, answerTo, state };
}

test('a founder that has stopped serving closes the connection of a node that it admitted before', async () => {
  const { server, channel, state } = await aFounder();
  server.stop();
  state.isClosed = false;
  server.serve(channel);
  assert.equal(state.isClosed, true);
});

test('a write that waits while changes are held gets its write ids, also when the node repeats the write before the release', async () => {
  const { store, send, answerTo } = await aFounder();
  store.hold();
  const write = { ask: 'write', key: 'count', json: '1', writes: ['first'], expectedRevision: 0 } as const;
  send({ id: 1, ...write });
  send({ id: 2, ...write });
  await turn(); // both wait now
  store.release();
  await turn();
  assert.deepEqual([answerTo(1), answerTo(2)], [1, null]);
  send({ id: 3, ask: 'read', key: 'count' });
  await turn();
  assert.deepEqual(answerTo(3), { key: 'count', json: '1', revision: 1, writes: ['first'] });
});

test('a node that cannot be sent a record of the founder is disconnected, and the record is stored', async () => {
  const { store, send, state } = await aFounder();
  send({ id: 1, ask: 'follow' });
  await turn();
  assert.equal(await store.put('small', 1, 0), 1);
  assert.equal(state.isClosed, false);
  assert.equal(await store.put('large', 'too large', 0), 2);
  assert.equal(state.isClosed, true);
});

test('a write that is no JSON changes nothing, and its id is not that of the next change', async () => {
  const { store, send, answerTo } = await aFounder();
  send({ id: 1, ask: 'write', key: 'count', json: '{', writes: ['broken'], expectedRevision: 0 });
  await turn();
  assert.equal(await store.put('count', 2, 0), 1);
  send({ id: 2, ask: 'read', key: 'count' });
  await turn();
  assert.deepEqual(answerTo(2), { key: 'count', json: '2', revision: 1, writes: ['of the founder'] });
});

test('a node that sends something else than a request is disconnected', async () => {
  const { receive, state } = await aFounder();
  receive(null);
  await turn();
  assert.equal(state.isClosed, true);
});
