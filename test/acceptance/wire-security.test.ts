// TLS on every listener: versions, suites and their order, changed while the node runs.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { type ConnectionOptions, connect, getCiphers, type TLSSocket } from 'node:tls';
import { noOperation } from '../support/admission.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';

/** Options for clients of old TLS versions, which OpenSSL disables by default. */
const old = (version: 'TLSv1' | 'TLSv1.1'): ConnectionOptions => ({
  minVersion: version,
  maxVersion: version,
  ciphers: 'DEFAULT:@SECLEVEL=0',
});
const gcm128 = 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256';
const gcm256 = 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384';
const only = (ciphers: string): ConnectionOptions => ({ ciphers, maxVersion: 'TLSv1.2' });

async function dial(address: string, options: ConnectionOptions): Promise<TLSSocket> {
  const [, host, port] = /(?:.*:\/\/)?(.*):(\d+)$/.exec(address) ?? [];
  const socket = connect({
    host: host as string,
    port: Number(port),
    rejectUnauthorized: false,
    ...options,
  });
  await once(socket, 'secureConnect');
  return socket;
}

/** `TLSv1.2 TLS_…`, or `refused`. */
async function negotiated(address: string, options: ConnectionOptions): Promise<string> {
  try {
    const socket = await dial(address, options);
    const text = `${socket.getProtocol()} ${socket.getCipher().standardName}`;
    socket.destroy();
    return text;
  } catch (error) {
    assert.match(String((error as NodeJS.ErrnoException).code), /^(ERR_SSL|ECONNRESET)/);
    return 'refused';
  }
}

async function set(node: NodeProcess, path: string, fields: Record<string, string>): Promise<void> {
  const response = await node.request(`/settings/security${path}`, 'POST', fields);
  assert.equal(response.status, 200, await response.text());
}

const addresses = ({ ready }: NodeProcess) => [ready.node.restTls, ready.node.capiTls, ready.node.kvTls];

async function negotiatedEverywhere(node: NodeProcess, options: ConnectionOptions): Promise<string[]> {
  const answers = await Promise.all(addresses(node).map((address) => negotiated(address, options)));
  return [...new Set(answers.map((answer) => answer.split(' ')[0] as string))];
}

describe('TLS of a node', () => {
  it('offers the versions of the settings, from the next connection on and after a restart', async () => {
    await using first = await NodeProcess.start();
    for (const version of ['TLSv1', 'TLSv1.1'] as const)
      assert.deepEqual(await negotiatedEverywhere(first, old(version)), ['refused'], 'by default');
    await set(first, '', { tlsMinVersion: 'tlsv1.1' });
    await eventually(async () =>
      assert.deepEqual(await negotiatedEverywhere(first, old('TLSv1.1')), ['TLSv1.1']),
    );
    assert.deepEqual(await negotiatedEverywhere(first, old('TLSv1')), ['refused']);
    assert.deepEqual(await negotiatedEverywhere(first, {}), ['TLSv1.3']);
    await set(first, '', { tlsMinVersion: 'tlsv1' });
    await eventually(async () =>
      assert.deepEqual(await negotiatedEverywhere(first, old('TLSv1')), ['TLSv1']),
    );

    const { dataDir } = first;
    await first.stop('SIGKILL');
    await using again = await NodeProcess.start({ dataDir });
    assert.deepEqual(await negotiatedEverywhere(again, old('TLSv1')), ['TLSv1']);
    const open = await dial(again.ready.node.kvTls, old('TLSv1.1'));
    await set(again, '', { tlsMinVersion: 'tlsv1.2' });
    for (const version of ['TLSv1', 'TLSv1.1'] as const)
      await eventually(async () =>
        assert.deepEqual(await negotiatedEverywhere(again, old(version)), ['refused']),
      );
    assert.equal(await noop(open), 0x81, 'a connection from before the change is no longer served');
    open.destroy();
  });

  it('offers the suites of the settings per service, in their order or the client’s', async () => {
    await using node = await NodeProcess.start();
    const { restTls, kvTls } = node.ready.node;
    const [ours128, ours256] = ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'];
    await set(node, '', { cipherSuites: JSON.stringify([gcm128, gcm256]) });
    const clientsChoice = only(`${ours256}:${ours128}`);
    await eventually(async () => {
      for (const address of [restTls, kvTls])
        assert.equal(await negotiated(address, clientsChoice), `TLSv1.2 ${gcm128}`);
    });
    assert.equal(await negotiated(restTls, {}), `TLSv1.2 ${gcm128}`, 'no suite of TLS 1.3 is named');
    assert.equal(await negotiated(restTls, { minVersion: 'TLSv1.3' }), 'refused');
    await set(node, '/clusterManager', { honorCipherOrder: 'false' });
    await eventually(async () => assert.equal(await negotiated(restTls, clientsChoice), `TLSv1.2 ${gcm256}`));
    assert.equal(await negotiated(kvTls, clientsChoice), `TLSv1.2 ${gcm128}`);

    await set(node, '/data', { cipherSuites: JSON.stringify([gcm256]) });
    await eventually(async () => assert.equal(await negotiated(kvTls, only(ours128)), 'refused'));
    assert.equal(await negotiated(kvTls, only(ours256)), `TLSv1.2 ${gcm256}`);
    assert.equal(await negotiated(restTls, only(ours128)), `TLSv1.2 ${gcm128}`);

    await set(node, '/data', { cipherSuites: '["TLS_AES_128_GCM_SHA256"]', tlsMinVersion: 'tlsv1.3' });
    await eventually(async () => assert.equal(await negotiated(kvTls, {}), 'TLSv1.3 TLS_AES_128_GCM_SHA256'));
    assert.equal(await negotiated(kvTls, { maxVersion: 'TLSv1.2' }), 'refused');
  });

  it('has separate settings for the query and the index service', async () => {
    await using node = await NodeProcess.start();
    const { restTls, queryTls = '', indexTls = '' } = node.ready.node;
    const older = { maxVersion: 'TLSv1.2' } as const;
    for (const [service, address, other] of [
      ['query', queryTls, indexTls],
      ['index', indexTls, restTls],
    ] as const) {
      assert.match(await negotiated(address, older), /^TLSv1\.2 /);
      await set(node, `/${service}`, { tlsMinVersion: 'tlsv1.3' });
      await eventually(async () => assert.equal(await negotiated(address, older), 'refused'));
      assert.match(await negotiated(address, {}), /^TLSv1\.3 /);
      assert.match(await negotiated(other, older), /^TLSv1\.2 /);
      const shown = await (await node.request(`/settings/security/${service}`)).json();
      assert.equal((shown as { tlsMinVersion: string }).tlsMinVersion, 'tlsv1.3');
    }
  });

  it('serves each supported suite with either key type, and after a restart', async () => {
    await using first = await NodeProcess.start();
    const response = await first.request('/settings/security/data/supportedCipherSuites');
    const supported = (await response.json()) as string[];
    assert(supported.includes('TLS_RSA_WITH_AES_128_GCM_SHA256'));
    const any = { ciphers: getCiphers().join(':').toUpperCase() };
    for (const suite of supported) {
      await set(first, '/data', { cipherSuites: JSON.stringify([suite]) });
      await eventually(async () =>
        assert.equal((await negotiated(first.ready.node.kvTls, any)).split(' ')[1], suite),
      );
    }
    await set(first, '', { cipherSuites: '["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]' });
    await set(first, '/data', { cipherSuites: '["TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"]' });
    const { dataDir } = first;
    await first.stop('SIGKILL');
    await using again = await NodeProcess.start({ dataDir });
    const { restTls, kvTls } = again.ready.node;
    assert.equal(await negotiated(restTls, {}), 'TLSv1.2 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256');
    assert.equal(await negotiated(kvTls, {}), 'TLSv1.2 TLS_DHE_RSA_WITH_AES_128_GCM_SHA256');
    assert.equal((await again.request('/controller/regenerateCertificate', 'POST')).status, 200);
    await eventually(async () =>
      assert.equal(await negotiated(restTls, {}), 'TLSv1.2 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'),
    );
  });

  it('does not resume sessions from before a change', async () => {
    await using node = await NodeProcess.start();
    const { restTls } = node.ready.node;
    const excluded = only('ECDHE-ECDSA-AES256-GCM-SHA384');
    const socket = await dial(restTls, excluded);
    const session = socket.getSession() as Buffer;
    socket.destroy();
    const resumed = await dial(restTls, { ...excluded, session });
    assert.ok(resumed.isSessionReused(), 'the node did not resume the session before the change');
    resumed.destroy();
    await set(node, '', { cipherSuites: JSON.stringify([gcm128]) });
    await eventually(async () =>
      assert.equal(await negotiated(restTls, { ...excluded, session }), 'refused'),
    );
  });

  it('resumes sessions of the data port after changes of other things', async () => {
    await using node = await NodeProcess.start();
    const { kvTls } = node.ready.node;
    const cipher = only('ECDHE-ECDSA-AES256-GCM-SHA384');
    const socket = await dial(kvTls, cipher);
    const session = socket.getSession() as Buffer;
    socket.destroy();
    const bucket = { name: 'b', ramQuotaMB: '100' };
    assert.equal((await node.request('/pools/default/buckets', 'POST', bucket)).status, 202);
    const resumed = await dial(kvTls, { ...cipher, session });
    assert.ok(resumed.isSessionReused());
    resumed.destroy();
  });
});

/** Sends a NOOP; returns the magic byte of the answer, 0x81 for replies. */
async function noop(socket: TLSSocket): Promise<number> {
  socket.write(noOperation);
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  return bytes[0] as number;
}
