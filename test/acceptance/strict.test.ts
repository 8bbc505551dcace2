// The encryption level `strict` for another machine, which a network namespace simulates.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { portNumber } from '../support/addresses.ts';
import { endAfterTests } from '../support/left-running.ts';
import { needs } from '../support/needs.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';

const suffix = process.pid % 10_000;
const [here, there] = ['169.254.77.1', '169.254.77.2'];

/** A simulated machine with a network link to this one. */
class OtherMachine implements Disposable {
  readonly #name = `divan${suffix}`;
  readonly #vethPair = [`dvh${suffix}`, `dvn${suffix}`] as const;

  constructor() {
    const [ours, theirs] = this.#vethPair;
    this.#ip('netns', 'add', this.#name);
    this.#ip('link', 'add', ours, 'type', 'veth', 'peer', 'name', theirs, 'netns', this.#name);
    this.#ip('addr', 'add', `${here}/30`, 'dev', ours);
    this.#ip('link', 'set', ours, 'up');
    this.#ip('-n', this.#name, 'addr', 'add', `${there}/30`, 'dev', theirs);
    this.#ip('-n', this.#name, 'link', 'set', theirs, 'up');
  }

  async assertPlainPorts(node: NodeProcess, expected: string): Promise<void> {
    const answers = await Promise.all(plainPorts(node).map((port) => this.#reach(port, 'plain')));
    assert.deepEqual(answers, all(expected));
  }

  async assertSecurePortsOpen({ ready }: NodeProcess): Promise<void> {
    const { restTls, kvTls, capiTls } = ready.node;
    const ports = [restTls, kvTls, capiTls].map(portNumber);
    assert.deepEqual(await Promise.all(ports.map((port) => this.#reach(port, 'tls'))), all('open'));
  }

  /** `open` (for TLS after the handshake), or the error of a connection from that machine. */
  async #reach(port: number, protocol: 'plain' | 'tls'): Promise<string> {
    const script = `
      const options = { host: '${here}', port: ${port}, rejectUnauthorized: false };
      const report = (text) => { console.log(text); process.exit(); };
      const socket = require('${protocol === 'tls' ? 'tls' : 'net'}').connect(options, () => report('open'));
      socket.on('error', (error) => report(error.code)).setTimeout(60_000, () => report('no answer'));`;
    return await this.#run(script);
  }

  /** A persistent connection from that machine; `ended` resolves when this side closes it. */
  hold(port: number): { held: Promise<void>; ended: Promise<string> } {
    const script = `
      const socket = require('net').connect({ host: '${here}', port: ${port} }, () => console.log('held'));
      socket.on('close', () => { console.log('ended'); process.exit(); });`;
    const child = this.#start(script);
    const held = Promise.withResolvers<void>();
    child.stdout.once('data', () => held.resolve());
    return { held: held.promise, ended: text(child.stdout) };
  }

  [Symbol.dispose](): void {
    this.#ip('netns', 'del', this.#name);
  }

  async #run(script: string): Promise<string> {
    return (await text(this.#start(script).stdout)).trim();
  }

  #start(script: string) {
    const child = spawn('ip', ['netns', 'exec', this.#name, process.execPath, '-e', script]);
    endAfterTests(child);
    return child;
  }

  #ip(...args: string[]): void {
    execFileSync('ip', args);
  }
}

function reachHere(port: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(port, '127.0.0.1', () => resolve('open'));
  socket.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
  return promise.finally(() => socket.destroy());
}

const all = (what: string) => [what, what, what];
const plainPorts = ({ ready }: NodeProcess) =>
  [ready.node.rest, ready.node.kv, ready.node.capi].map(portNumber);

async function post(node: NodeProcess, path: string, fields: Record<string, string>): Promise<void> {
  const response = await node.request(path, 'POST', fields);
  assert.equal(response.status, 200, await response.text());
}

describe('the level strict', { skip: needs('namespaces') }, () => {
  it('closes plain ports to other machines, at once and after a restart, until the level changes', async () => {
    using other = new OtherMachine();
    await using first = await NodeProcess.start({ args: ['--host', '0.0.0.0', '--bucket', 'b'] });
    await other.assertPlainPorts(first, 'open');
    const { rest, kv } = first.ready.node;
    const held = [rest, kv].map((address) => other.hold(portNumber(address)));
    await Promise.all(held.map((connection) => connection.held));

    await post(first, '/settings/autoFailover', { enabled: 'false' });
    await post(first, '/node/controller/enableExternalListener', { nodeEncryption: 'on' });
    await post(first, '/node/controller/setupNetConfig', { nodeEncryption: 'on' });
    await post(first, '/settings/security', { clusterEncryptionLevel: 'strict' });
    await eventually(() => other.assertPlainPorts(first, 'ECONNREFUSED'));
    await other.assertSecurePortsOpen(first);
    assert.deepEqual(await Promise.all(plainPorts(first).map(reachHere)), all('open'), 'on this machine');
    for (const { ended } of held)
      assert.match(await ended, /ended/, 'a connection from before the change is closed');

    await first.stop('SIGKILL');
    await using again = await NodeProcess.start({ dataDir: first.dataDir, args: ['--host', '0.0.0.0'] });
    await other.assertPlainPorts(again, 'ECONNREFUSED');
    await other.assertSecurePortsOpen(again);
    await post(again, '/settings/security', { clusterEncryptionLevel: 'all' });
    await eventually(() => other.assertPlainPorts(again, 'open'));
  });
});
