import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readPassphrase } from '../passphrase.ts';
import { RealPassphraseSources } from './passphrase-sources.host.ts';

const refusal = async (promise: Promise<unknown>): Promise<unknown> => {
  const error = await promise.then(
    () => assert.fail('was not refused'),
    (reason: { body: { value?: unknown; fields?: unknown } }) => reason,
  );
  return error.body.value ?? error.body.fields;
};

test('the node reads a passphrase from a script of its folder, or reports why it cannot', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'scripts-'));
  const script = (name: string, text: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o700);
  };
  script('fine', 'echo "open $1"');
  script('failing', 'echo no such secret >&2; exit 3');
  script('slow', 'exec sleep 60');
  script('waiting', 'sleep 60; echo late');
  script('long', 'head -c 100000 /dev/zero | tr "\\0" a');
  const sources = new RealPassphraseSources(folder);
  const read = (source: object) =>
    readPassphrase(JSON.stringify({ privateKeyPassphrase: { type: 'script', ...source } }), sources);
  const passphraseFrom = async (source: object) => (await read(source)).text();
  assert.equal(await passphraseFrom({ path: 'fine', args: ['sesame'] }), 'open sesame');
  assert.equal(await passphraseFrom({ path: join(folder, 'fine'), trim: false }), 'open \n');
  assert.equal(
    await refusal(passphraseFrom({ path: 'failing' })),
    'Script exited with status 3:\nno such secret',
  );
  assert.match(
    String(await refusal(passphraseFrom({ path: 'slow', timeout: 50 }))),
    /^Script exited with status SIGKILL/,
  );
  assert.equal(await passphraseFrom({ path: 'long' }), 'a'.repeat(65_536));
  // The process that this script waits for keeps its output open.
  assert.match(
    String(await refusal(passphraseFrom({ path: 'waiting', timeout: 50 }))),
    /^Script exited with status SIGKILL/,
  );
  assert.deepEqual(await refusal(read({ path: 'absent' })), {
    'privateKeyPassphrase.path': `File ${folder}/absent doesn't exist or not a regular file`,
  });
  assert.match(JSON.stringify(await refusal(read({ path: '../fine' }))), /parent directory segments/);
  assert.match(JSON.stringify(await refusal(read({ path: '/bin/sh' }))), /must reside in/);
  rmSync(folder, { recursive: true });
});

test('the node reads a passphrase from an HTTP service, and shows no secret of the call', async () => {
  const server = createServer((request, response) => {
    const isRight = request.headers['x-token'] === 't0ken' && request.url === '/key?secret=1';
    response.writeHead(isRight ? 200 : 403).end(isRight ? 'sesame' : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sources = new RealPassphraseSources('/nowhere');
  const read = (headers: Record<string, string>) => {
    const source = { type: 'rest', url: `${origin}/key?secret=1`, headers };
    return readPassphrase(JSON.stringify({ privateKeyPassphrase: source }), sources);
  };
  const fine = await read({ 'X-Token': 't0ken' });
  assert.equal(await fine.text(), 'sesame');
  assert.deepEqual(fine.publicSource, {
    type: 'rest',
    url: `${origin}/key`,
    timeout: 5_000,
    httpsOpts: { verifyPeer: true },
  });
  const refused = await read({ 'X-Token': 'other' });
  assert.equal(await refusal(refused.text()), `REST API call ${origin}/key returned 403`);
  server.close();
  await new Promise((resolve) => server.once('close', resolve));
  assert.match(String(await refusal(fine.text())), /^REST API call .*\/key failed \(.*ECONNREFUSED/);
});

test('the node connects to addresses of one family only, if the request names it', async () => {
  const server = createServer((_request, response) => response.end('sesame'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://localhost:${(server.address() as AddressInfo).port}/`;
  const read = (addressFamily: string) => {
    const source = { type: 'rest', url, addressFamily };
    return readPassphrase(
      JSON.stringify({ privateKeyPassphrase: source }),
      new RealPassphraseSources('/nowhere'),
    );
  };
  const overIpv4 = await read('inet');
  assert.deepEqual([await overIpv4.text(), overIpv4.publicSource.addressFamily], ['sesame', 'inet']);
  assert.match(String(await refusal((await read('inet6')).text())), /^REST API call .* failed/);
  server.close();
});
