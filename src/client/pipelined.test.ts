import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import type { Frame } from '#wire/frame.ts';
import { pipelined } from './pipelined.ts';
import type { RequestSender } from './wire-connection.adapter.ts';

/** A node that answers when the test tells it to. */
function aSilentNode() {
  const waiting: ((frame: Frame) => boolean)[] = [];
  const send: RequestSender['send'] = (_request, receive) => void waiting.push(receive);
  return { connection: { send }, waiting, answer: () => waiting.shift()?.({} as Frame) };
}

const request = () => ({ opcode: 0, vb: 0 });

test('an abort rejects at once while the node is silent, and sends and takes nothing more', async () => {
  const { connection, waiting, answer } = aSilentNode();
  const abort = new AbortController();
  let received = 0;
  const run = pipelined(connection, {
    count: 5_000,
    request,
    receive: () => received++,
    signal: abort.signal,
  });
  const sent = waiting.length;
  answer();
  abort.abort(new Error('enough'));
  await assert.rejects(run, /enough/);
  while (waiting.length > 0) answer();
  assert.deepEqual({ sent, received }, { sent: 1_024, received: 1 });
});

test('an abort after the last reply changes nothing', async () => {
  const { connection, answer } = aSilentNode();
  const abort = new AbortController();
  const run = pipelined(connection, { count: 2, request, receive: () => {}, signal: abort.signal });
  answer();
  answer();
  abort.abort(new Error('too late'));
  await run;
});

test('an error of the receiver rejects, and replies after it are ignored', async () => {
  const { connection, answer } = aSilentNode();
  let received = 0;
  const receive = () => {
    received++;
    throw new Error('cannot be inflated');
  };
  const run = pipelined(connection, { count: 2, request, receive });
  answer();
  answer();
  await assert.rejects(run, /cannot be inflated/);
  assert.equal(received, 1);
});

test('an error while a request is made rejects, even after some replies', async () => {
  const { connection, waiting, answer } = aSilentNode();
  const bad = (index: number) => {
    if (index === 2_000) throw new Error('no such time');
    return request();
  };
  const run = pipelined(connection, { count: 5_000, request: bad, receive: () => {} });
  const rejected = assert.rejects(run, /no such time/);
  while (waiting.length > 0) answer();
  await rejected;
});

test('after an error while a request is made nothing more is sent or received', async () => {
  const { connection, waiting, answer } = aSilentNode();
  const abort = new AbortController();
  const sent: number[] = [];
  let received = 0;
  const bad = (index: number) => {
    if (index === 2) throw new Error('no such time');
    sent.push(index);
    return request();
  };
  const receive = () => received++;
  const { signal } = abort;
  await assert.rejects(pipelined(connection, { count: 10, request: bad, receive, signal }), /no such time/);
  while (waiting.length > 0) answer();
  assert.deepEqual({ sent, received }, { sent: [0, 1], received: 0 });
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});
