import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { type Log, silentLog } from '#ports/log.ts';
import { Status } from '#wire/status.ts';
import { startService } from '../../../test/support/data-service.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { adminAccount } from '../../../test/support/wire-clients.ts';
import { implicitMapping } from '../mapping/mapping.contract.ts';
import type { OutgoingVersion } from '../target/outgoing.ts';
import { TargetLink } from '../target/target-link.ts';
import type { WantedReplication } from '../xdcr.contract.ts';
import { PriorityShares } from './priority-shares.ts';
import { type ReplicationDeps, RunningReplication } from './replication.ts';

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

interface ReplicationParts {
  readonly readMap: ReplicationDeps['readMap'];
  readonly load?: ReplicationDeps['checkpoints']['load'];
  readonly log?: ReplicationDeps['log'];
}

/** A replication of one vbucket from this data port. */
const aReplication = (
  replicated: WantedReplication,
  port: number,
  { readMap, load = async () => [], log = silentLog }: ReplicationParts,
) =>
  new RunningReplication(replicated, {
    source: {
      address: { host: '127.0.0.1', port, timeoutMs: 60_000 },
      account: { username: 'x', password: 'x' },
    },
    readMap,
    checkpoints: { load, save: async () => {} },
    clock: new ManualClock(),
    log,
    vbuckets: () => [0],
    sendingNodes: () => 1,
    shares: new PriorityShares(),
  });

/** Whether the work is done after some turns of the event loop. */
async function endsSoon(work: Promise<unknown>): Promise<boolean> {
  let isDone = false;
  void work.then(() => {
    isDone = true;
  });
  for (let turn = 0; turn < 100 && !isDone; turn++) await new Promise(setImmediate);
  return isDone;
}

/** A target whose data port is this one. */
const targetAt = (port: number) => ({
  bucketUuid: 'b',
  hosts: [],
  nodes: [{ host: '127.0.0.1', port }],
  actives: [0],
});
const running = {
  ...wanted,
  isPaused: false,
  target: { bucket: 'b', access: { hosts: [], ...adminAccount, encryptsData: false } },
  settings: { ...wanted.settings, networkUsageLimit: 0, targetNozzlePerNode: 1, workerBatchSize: 1 },
} as unknown as WantedReplication;

test('a replication stops at once while its target does not answer requests for its map, or its data port no logins', async (t) => {
  const port = await aSilentPort();
  t.after(() => port.close());
  const withoutMap = aReplication(running, port.port, { readMap: () => new Promise(() => {}) });
  withoutMap.start();
  assert.equal(await endsSoon(withoutMap.stop()), true);
  const silent = aReplication(running, port.port, { readMap: async () => targetAt(port.port) });
  silent.start();
  await port.acceptedAll();
  assert.equal(await endsSoon(silent.stop()), true);
});

test('a replication stops at once while its target does not answer what it has', async (t) => {
  await using target = await startService();
  // Passes on all bytes until the replication is connected.
  const sockets: Socket[] = [];
  const between = createServer((socket) => {
    const onward = connect(target.port, '127.0.0.1');
    for (const one of [socket, onward]) one.on('error', () => {});
    sockets.push(socket, onward);
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    between.close();
  });
  const { port } = between.address() as AddressInfo;
  const connected = Promise.withResolvers<void>();
  const load = async () => {
    for (const socket of sockets) socket.unpipe();
    connected.resolve();
    return [];
  };
  const replication = aReplication(running, target.port, { readMap: async () => targetAt(port), load });
  replication.start();
  await connected.promise;
  await new Promise(setImmediate);
  assert.equal(await endsSoon(replication.stop()), true);
});

test('reports that are made while the source does not answer share a connection to it', async (t) => {
  const port = await aSilentPort();
  t.after(() => port.close());
  const replication = aReplication(wanted, port.port, {
    readMap: () => Promise.reject(new Error('is paused')),
  });
  const reports = [replication.report(), replication.report()];
  await port.acceptedAll();
  const connections = port.accepted.length - 1;
  port.close();
  await Promise.all(reports);
  assert.equal(connections, 1);
});

test('documents that the target refuses are reported as one error for each reason, and the first hundred are logged without their keys', async (t) => {
  const port = await aSilentPort();
  port.close();
  const opened = Promise.withResolvers<Parameters<typeof TargetLink.open>[0]>();
  t.mock.method(TargetLink, 'open', (options: Parameters<typeof TargetLink.open>[0]) => {
    opened.resolve(options);
    return new Promise(() => {});
  });
  const logged: unknown[] = [];
  const log: Log = { ...silentLog, warn: (event, fields) => logged.push([event, fields]) };
  const readMap = () => Promise.reject(new Error('is not read'));
  const replication = aReplication(running, port.port, { readMap, log });
  replication.start();
  const { leftOut } = await opened.promise;
  const refused = (seqno: number, status: number): void =>
    leftOut({ vb: 3, seqno, key: Buffer.from('k') } as unknown as OutgoingVersion, status);
  for (let seqno = 1; seqno <= 99; seqno++) refused(seqno, Status.tooBig);
  for (let seqno = 100; seqno <= 102; seqno++) refused(seqno, Status.casValueInvalid);
  const { errors } = await replication.report();
  const text = (name: string): string =>
    `the target refuses documents for good with status ${name}: they are left out, and counted as docs_refused`;
  assert.deepEqual(
    errors.map((error) => error.text),
    [text('casValueInvalid'), text('tooBig')],
  );
  assert.equal(logged.length, 100);
  const last = { replication: 'c/a/b', vb: 3, seqno: 100, status: 'casValueInvalid' };
  assert.deepEqual(logged.at(-1), ['xdcr.document_refused', last]);
  await replication.stop();
});
