import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { describe, it } from 'node:test';
import { deliveryOf, headerIn } from './feed-messages.ts';
import { keyOfSubject, keySubject } from './kv-names.ts';
import { parseServers } from './nats-servers.ts';
import { probe } from './server-probe.adapter.ts';
import { serversRefusal } from './server-rules.ts';

const server = (version: string, cluster?: string) => ({ address: `h-${version}:4222`, version, cluster });

describe('rules for NATS servers', () => {
  it('accepts a single server of any version, and servers of a cluster from 2.12', () => {
    assert.equal(serversRefusal([server('2.9.10')]), null);
    assert.equal(serversRefusal([server('2.12.0', 'c'), server('2.15.2', 'c'), server('3.0.1', 'c')]), null);
    for (const old of ['2.11.99', '2.9.10', '1.4.0', 'strange'])
      assert.match(
        serversRefusal([server('2.15.2', 'c'), server(old, 'c')]) ?? '',
        new RegExp(
          `the NATS server at h-${old}:4222 is of version ${old}; servers of a cluster must be of 2.12`,
        ),
      );
  });

  it('reads the version of a server, and whether it stores, from the line that it sends before the login', async (t) => {
    const line = 'INFO {"version":"2.10.1","cluster":"c"';
    const lines = [`${line}}\r\n`, `${line},"jetstream":true}\r\n`, 'hello\n', 'INFO {broken\n'];
    const server = { version: '2.10.1', cluster: 'c' };
    const expected = [{ ...server, stores: false }, { ...server, stores: true }, null, null];
    t.plan(lines.length + 1);
    for (const [i, line] of lines.entries()) {
      const listening = createServer((socket) => socket.on('error', () => {}).write(line)).listen(
        0,
        '127.0.0.1',
      );
      await new Promise((resolve) => listening.once('listening', resolve));
      const { port } = listening.address() as AddressInfo;
      const found = await probe({ host: '127.0.0.1', port }).finally(() => listening.close());
      const wanted = expected[i] ?? null;
      t.assert.deepEqual(found, wanted && { address: `127.0.0.1:${port}`, ...wanted });
    }
    t.assert.equal(await probe({ host: '127.0.0.1', port: 1 }), null);
  });

  it('waits a second for the first line of a server, also of one that sends a byte of it now and then', async () => {
    const listening = createServer((socket) => {
      const timer = setInterval(() => socket.write('I'), 100);
      socket.on('error', () => {}).on('close', () => clearInterval(timer));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => listening.once('listening', resolve));
    const { port } = listening.address() as AddressInfo;
    assert.equal(await probe({ host: '127.0.0.1', port }).finally(() => listening.close()), null);
  });

  it('reads the servers, a login and whether to encrypt from one text, and names no password in an error', () => {
    assert.deepEqual(parseServers('nats://a,b:5,[::1]:6'), {
      addresses: [
        { host: 'a', port: 4222 },
        { host: 'b', port: 5 },
        { host: '::1', port: 6 },
      ],
      tls: false,
    });
    const { user, password, tls } = parseServers('tls://u%40x:p:%C3%A9@h:1');
    assert.deepEqual({ user, password, tls }, { user: 'u@x', password: 'p:é', tls: true });
    assert.equal(parseServers('nats://token@h').token, 'token');
    for (const wrong of [
      'nats://',
      'nats://h:0',
      'nats://h:99999',
      'nats://h,,i',
      'http://h',
      'nats://u:secret@',
    ])
      assert.throws(
        () => parseServers(wrong),
        (error: Error) => /nats:\/\/host:4222/.test(error.message) && !error.message.includes('secret'),
      );
  });

  it('converts every key to a subject of its own, and back', () => {
    for (const key of ['cluster', 'map/1-2_3', 'a.b', 'ü ', '=2e', '*', '>', '😀', 'a=b'])
      assert.equal(keyOfSubject('b', keySubject('b', key)), key);
    assert.equal(keySubject('b', 'settings/a.b'), '$KV.b.settings/a=2eb');
    for (const foreign of ['$KV.b.a.b', '$KV.c.a', '$KV.b.=41', '$KV.b.a=zz'])
      assert.equal(keyOfSubject('b', foreign), null);
  });

  it('reads the position of a message from both forms of the reply subject', () => {
    const position = { revision: 7, consumerSeq: 3, pending: 2 };
    assert.deepEqual(deliveryOf('$JS.ACK.KV_b.consumer.1.7.3.1700.2'), position);
    assert.deepEqual(deliveryOf('$JS.ACK.domain.account.KV_b.consumer.1.7.3.1700.2.token'), position);
    for (const other of ['', '_INBOX.1', '$JS.ACK.KV_b.c.1.x.3.1700.2'])
      assert.equal(deliveryOf(other), null);
  });

  it('finds a header in upper and lower case', () => {
    const headers = 'NATS/1.0\r\nKV-Operation: DEL\r\ndivan-writes: a b\r\n\r\n';
    assert.equal(headerIn(headers, 'kv-operation'), 'DEL');
    assert.equal(headerIn(headers, 'Divan-Writes'), 'a b');
    assert.equal(headerIn(headers, 'other'), null);
  });
});
