import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { BucketClient } from '#client/bucket-client.ts';
import type { FetchedDocument } from '#client/fetched-document.ts';
import { startService } from '../../../test/support/data-service.ts';
import { addressOf, adminAccount } from '../../../test/support/wire-clients.ts';
import { BucketDocuments } from './bucket-documents.ts';

const collections = new Map([['_default._default', 0]]);
const set = (value: string) =>
  ({ kind: 'set', key: 'k', value: Buffer.from(value), cas: 0n, expiry: 0 }) as const;

/** A proxy of a data port that, if asked to, ends the first connection when it sends something after a second one was accepted. */
async function aProxy(port: number) {
  const sockets: Socket[] = [];
  const proxy = { endsFirst: false, accepted: 0, port: 0, close: () => {} };
  const server = createServer((client) => {
    const order = ++proxy.accepted;
    const service = connect(port, '127.0.0.1');
    sockets.push(client, service);
    client.on('data', (data) => {
      if (proxy.endsFirst && order === 1 && proxy.accepted > 1) client.destroy();
      else service.write(data);
    });
    service.on('data', (data) => client.write(data));
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy.port = (server.address() as { port: number }).port;
  proxy.close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return proxy;
}

test('a reset after one whose connection was lost restores also the documents that the failed one had read', async () => {
  await using service = await startService();
  const direct = { address: addressOf(service.port), account: adminAccount, bucket: 'b' };
  const client = await BucketClient.open(direct);
  await client.storeMany(0, [set('1')]);
  const proxy = await aProxy(service.port);
  try {
    const documents = new BucketDocuments({ ...direct, address: addressOf(proxy.port) });
    await documents.capture(collections);
    await client.storeMany(0, [set('2')]);
    Object.assign(proxy, { accepted: 0, endsFirst: true });
    await assert.rejects(documents.restore(collections));
    proxy.endsFirst = false;
    assert.equal(await documents.restore(collections), true);
    const [found] = await client.getMany(0, ['k']);
    assert.equal((found as FetchedDocument).value.toString(), '1');
  } finally {
    proxy.close();
    client.close();
  }
});
