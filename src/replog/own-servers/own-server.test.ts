// A real NATS server as the child of this process.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { freePorts } from '../../../test/support/free-port.ts';
import { natsServerPath } from '../../../test/support/nats-binary.ts';
import { needs } from '../../../test/support/needs.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { OwnServer } from './own-server.adapter.ts';
import type { OwnServerSettings } from './server-settings.ts';

async function aServer() {
  const folder = join(mkdtempSync(join(tmpdir(), 'divan-server-')), 'nats');
  const [port, routePort] = (await freePorts(2)) as [number, number];
  const { certificate, key } = await makeCertificate();
  const host = '127.0.0.1';
  const settings: OwnServerSettings = {
    cluster: 'c',
    host,
    port,
    routePort,
    advertised: host,
    routes: [{ host, port: routePort }],
    password: 'secret',
    tls: { ca: certificate, cert: certificate, key },
  };
  const begin = (): OwnServer =>
    new OwnServer({
      folder,
      program: async () => natsServerPath,
      clock: realClock,
      random: realRandom,
      log: silentLog,
    });
  const server = begin();
  return {
    ...{ server, settings, folder, begin },
    pid: (): number => Number(readFileSync(join(folder, 'nats.pid'), 'utf8')),
    name: (): string => readFileSync(join(folder, 'store', 'server-name'), 'utf8'),
    async [Symbol.asyncDispose]() {
      await server.stop();
      rmSync(join(folder, '..'), { recursive: true, force: true });
    },
  };
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // While its file is being written it reads as 0.
    return pid > 1;
  } catch {
    return false;
  }
}

describe("a node's own NATS server", { skip: needs('nats-server') }, () => {
  it('is started again when it ends, ends when it is stopped, and keeps its name as long as its store', async () => {
    await using made = await aServer();
    const { server, settings, folder, pid, name } = made;
    assert.equal(server.exists, false);
    await server.startNew(settings);
    assert.equal(server.exists, true);
    for (const file of ['nats.conf', 'server.json', 'key.pem'])
      assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600, file);
    const [first, firstName] = [pid(), name()];
    process.kill(first, 'SIGKILL');
    await eventually(() => assert.ok(pid() !== first && runs(pid())));
    await server.stop();
    assert.equal(runs(pid()), false);
    await server.startExisting();
    await eventually(() => assert.ok(runs(pid())));
    assert.equal(name(), firstName);
    await server.stop();
    rmSync(join(folder, 'store'), { recursive: true });
    await server.startExisting();
    await eventually(() => assert.notEqual(name(), firstName));
    await server.remove();
    assert.equal(server.exists, false);
  });

  it('replaces one whose node was killed before it uses the same store', async () => {
    await using made = await aServer();
    const { server, settings, begin, pid } = made;
    await server.startNew(settings);
    const first = pid();
    const next = begin();
    try {
      await next.startExisting();
      await eventually(() => assert.ok(pid() !== first && runs(pid()) && !runs(first)));
    } finally {
      await server.stop();
      await next.stop();
    }
  });
});
