import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { implicitMapping } from '../mapping/mapping.contract.ts';
import type { WantedReplication } from '../xdcr.contract.ts';
import { PriorityShares } from './priority-shares.ts';
import { RunningReplication } from './replication.ts';

/** A data port that accepts connections and answers nothing. */
async function aSilentPort() {
  const accepted: Socket[] = [];
  const checks: (() => void)[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    accepted.push(socket);
    for (const check of checks) check();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    accepted,
    /** Resolves once the port has accepted all connections that were requested before this call. */
    async acceptedAll(): Promise<void> {
      const last = connect(port, '127.0.0.1');
      await new Promise<void>((resolve) => last.once('connect', resolve));
      const isLast = () => accepted.some(({ remotePort }) => remotePort === last.localPort);
      if (!isLast()) await new Promise<void>((resolve) => checks.push(() => void (isLast() && resolve())));
      last.destroy();
    },
    close() {
      for (const socket of accepted) socket.destroy();
      server.close();
    },
  };
}

const wanted = {
  id: 'c/a/b',
  source: { bucket: 'a', uuid: 'u' },
  settings: { logLevel: 'Info' },
  isPaused: true,
  filterEpochs: [''],
  mapping: implicitMapping,
  formerMappings: [],
} as unknown as WantedReplication;

test('reports that are made while the source does not answer share a connection to it', async (t) => {
  const port = await aSilentPort();
  t.after(() => port.close());
  const replication = new RunningReplication(wanted, {
    source: {
      address: { host: '127.0.0.1', port: port.port, timeoutMs: 60_000 },
      account: { username: 'x', password: 'x' },
    },
    readMap: () => Promise.reject(new Error('is paused')),
    checkpoints: { load: async () => [], save: async () => {} },
    clock: new ManualClock(),
    log: silentLog,
    vbuckets: () => [],
    sendingNodes: () => 1,
    shares: new PriorityShares(),
  });
  const reports = [replication.report(), replication.report()];
  await port.acceptedAll();
  const connections = port.accepted.length - 1;
  port.close();
  await Promise.all(reports);
  assert.equal(connections, 1);
});
