import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { Magic } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';
import { KvClient } from './kv.adapter.ts';

const document = { collectionId: 0, key: 'k' };

/** Answers requests with the given statuses in order, then always with the last one. */
async function withServer(statuses: number[], use: (client: KvClient) => Promise<void>): Promise<number> {
  let requests = 0;
  const server = createServer((socket) => {
    socket.on('data', (request) => {
      const reply = Buffer.alloc(24);
      reply[0] = Magic.response;
      request.copy(reply, 12, 12, 16); // the opaque
      reply.writeUInt16BE(statuses[Math.min(requests++, statuses.length - 1)] as number, 6);
      socket.write(reply);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = await KvClient.open('127.0.0.1', (server.address() as AddressInfo).port, 5_000);
  try {
    await use(client);
  } finally {
    client.close();
    server.close();
  }
  return requests;
}

test('a write is retried until the bucket has loaded', async () => {
  const requests = await withServer([Status.temporaryFailure, Status.temporaryFailure, 0], (client) =>
    client.set(document, Buffer.from('1'), 0, 5_000),
  );
  assert.equal(requests, 3);
});

test('a write fails when its retries take too long, or when the bucket refuses it', async () => {
  await withServer([Status.temporaryFailure], (client) =>
    assert.rejects(client.set(document, Buffer.from('1'), 0, 30), /storing "k": status 0x86/),
  );
  const requests = await withServer([Status.tooBig], (client) =>
    assert.rejects(client.set(document, Buffer.from('1'), 0, 5_000), /storing "k": status 0x3/),
  );
  assert.equal(requests, 1);
});
