// The address family of a node: which one it reports, and whether it can be limited to that one.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { needs } from '../support/needs.ts';
import { NodeProcess } from '../support/node-process.ts';

interface Network {
  addressFamily: string;
  addressFamilyOnly: boolean;
  nodeEncryption: boolean;
  externalListeners: { afamily: string; nodeEncryption: boolean }[];
}

test('a node reports the family of its addresses, and can be limited to it unless it listens on both families', {
  skip: needs('ipv6'),
}, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-test-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const limitedOn = async (host: string) => {
    await using node = await NodeProcess.start({ dataDir, args: ['--host', host] });
    await node.request('/settings/autoFailover', 'POST', { enabled: 'false' });
    for (const call of ['enableExternalListener', 'setupNetConfig']) {
      const encrypted = await node.request(`/node/controller/${call}`, 'POST', { nodeEncryption: 'on' });
      assert.equal(encrypted.status, 200);
    }
    const form = { afamilyOnly: 'true' };
    const { status } = await node.request('/node/controller/setupNetConfig', 'POST', form);
    return { status, accepting: await acceptingAddresses(node), reported: await networkOf(node) };
  };

  const listeners = (afamily: string) => [false, true].map((nodeEncryption) => ({ afamily, nodeEncryption }));
  const only = (family: string) => ({
    addressFamily: family,
    addressFamilyOnly: true,
    nodeEncryption: true,
    externalListeners: listeners(family),
  });
  assert.deepEqual(await limitedOn('127.0.0.1'), {
    status: 200,
    accepting: ['127.0.0.1'],
    reported: only('inet'),
  });
  assert.deepEqual(await limitedOn('::1'), { status: 200, accepting: ['::1'], reported: only('inet6') });
  assert.deepEqual(await limitedOn('::'), {
    status: 400,
    accepting: ['127.0.0.1', '::1'],
    reported: { ...only('inet6'), addressFamilyOnly: false },
  });
});

async function networkOf(node: NodeProcess): Promise<Network> {
  const record = (await (await node.request('/nodes/self')).json()) as Network;
  const { addressFamily, addressFamilyOnly, nodeEncryption, externalListeners } = record;
  return { addressFamily, addressFamilyOnly, nodeEncryption, externalListeners };
}

/** Addresses of this machine at which the node accepts connections. */
async function acceptingAddresses(node: NodeProcess): Promise<string[]> {
  const port = Number(new URL(node.ready.node.rest).port);
  const accepting = await Promise.all(
    ['127.0.0.1', '::1'].map(async (host) => ((await accepts(host, port)) ? [host] : [])),
  );
  return accepting.flat();
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      resolve(true);
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
  });
}
