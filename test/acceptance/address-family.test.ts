// A node reports the address families that it serves, on whatever addresses it is started.
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
  externalListeners: { afamily: string; nodeEncryption: boolean }[];
}

const encrypted = { nodeEncryption: 'on' };

test('a node reports the address family of the addresses that it listens on, and keeps the encryption of nodes on', {
  skip: needs('ipv6'),
}, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-test-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const startedOn = async (host: string) => {
    await using node = await NodeProcess.start({ dataDir, args: ['--host', host] });
    await node.request('/settings/autoFailover', 'POST', { enabled: 'false' });
    for (const call of ['enableExternalListener', 'setupNetConfig'])
      assert.equal((await node.request(`/node/controller/${call}`, 'POST', encrypted)).status, 200);
    const only = { afamilyOnly: 'true' };
    const { status } = await node.request('/node/controller/setupNetConfig', 'POST', only);
    return { status, answers: await answersOf(node), shown: await networkOf(node) };
  };

  const listeners = (afamily: string) => [false, true].map((nodeEncryption) => ({ afamily, nodeEncryption }));
  const ofOne = (family: string) => ({
    addressFamily: family,
    addressFamilyOnly: true,
    externalListeners: listeners(family),
  });
  assert.deepEqual(await startedOn('127.0.0.1'), {
    status: 200,
    answers: ['127.0.0.1'],
    shown: ofOne('inet'),
  });
  assert.deepEqual(await startedOn('::1'), { status: 200, answers: ['::1'], shown: ofOne('inet6') });
  assert.deepEqual(await startedOn('::'), {
    status: 400,
    answers: ['127.0.0.1', '::1'],
    shown: { ...ofOne('inet6'), addressFamilyOnly: false },
  });
});

async function networkOf(node: NodeProcess): Promise<Network> {
  const record = (await (await node.request('/nodes/self')).json()) as Network;
  const { addressFamily, addressFamilyOnly, externalListeners } = record;
  return { addressFamily, addressFamilyOnly, externalListeners };
}

/** Addresses of this machine at which the node accepts connections. */
async function answersOf(node: NodeProcess): Promise<string[]> {
  const port = Number(new URL(node.ready.node.rest).port);
  const accepting = await Promise.all(
    ['127.0.0.1', '::1'].map(async (host) => ((await accepts(host, port)) ? [host] : [])),
  );
  return accepting.flat();
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => socket.destroy(void resolve(true)));
    socket.once('error', () => resolve(false));
  });
}
