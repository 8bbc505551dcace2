import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import type { FounderJoinParameters, NodeMembership } from '#cluster/joining/join-messages.ts';
import { silentLog } from '#ports/log.ts';
import { MembershipFile } from './membership-file.ts';
import type { NodeOptions } from './node-options.ts';
import { type OpenedNode, RunningNode, type RunningNodeDeps } from './running-node.ts';

const parameters: FounderJoinParameters = {
  clusterUuid: 'c',
  clusterKey: 'a2V5',
  credentials: { ca: '', cert: '', key: '' },
  founder: { nodeId: 'b', host: '127.0.0.1', port: 1 },
};

/** A node that restarts when `restart` is called. `open` and `start` are steps of that restart. */
async function restarting(
  t: TestContext,
  steps: { open?: () => Promise<void>; start?: () => Promise<void> },
) {
  const folder = mkdtempSync(join(tmpdir(), 'divan-running-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const memberships: NodeMembership[] = [];
  const calls: string[] = [];
  const running = new RunningNode({
    options: { 'data-dir': folder, engine: 'embedded' } as NodeOptions,
    open: async (_, membership) => {
      const name = `node ${memberships.push(membership)}`;
      if (name === 'node 2') await steps.open?.();
      const node = {
        ports: {},
        start: async () => {
          calls.push(`${name} starts`);
          await steps.start?.();
        },
        stop: async () => void calls.push(`${name} stops`),
      };
      return { node, identity: { nodeId: 'a' }, onServers: null } as unknown as OpenedNode;
    },
    folderKey: () => new Uint8Array(32),
    server: {} as RunningNodeDeps['server'],
    onLost: ({ message }) => void calls.push(`lost: ${message}`),
    log: silentLog,
  });
  await running.open();
  running.becameReady();
  return { running, calls, restart: () => memberships[0]?.join(parameters) };
}

it('is not lost when it is stopped while it starts again', async (t) => {
  const start = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { running, calls, restart } = await restarting(t, {
    start: () => {
      begun.resolve();
      return start.promise;
    },
  });
  restart();
  await begun.promise;
  await running.stop();
  start.reject(new Error('the node is stopping'));
  await running.restarted();
  assert.deepEqual(calls, ['node 1 stops', 'node 2 starts', 'node 2 stops']);
});

it('does not start when it is stopped while it is opened again', async (t) => {
  const open = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { running, calls, restart } = await restarting(t, {
    open: () => {
      begun.resolve();
      return open.promise;
    },
  });
  restart();
  await begun.promise;
  await running.stop();
  open.resolve();
  await running.restarted();
  assert.deepEqual(calls, ['node 1 stops', 'node 1 stops', 'node 2 stops']);
});

it('restarts once more when it is removed from the cluster while it starts as a member', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-running-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = new MembershipFile(folder);
  const memberships: NodeMembership[] = [];
  const starts: (string | undefined)[] = [];
  const ports: unknown[] = [];
  const start = async (): Promise<void> => {
    starts.push(file.read()?.state);
    if (starts.length > 1) return;
    memberships.at(-1)?.leave();
    throw new Error('the configuration has no entry of this node');
  };
  // The first start ends before its REST API listens.
  const node = {
    ports: { kv: 7, mgmt: 0 },
    start,
    stop: async () => {},
    endStart: async () => {},
    startMetrics: () => {},
  };
  const running = new RunningNode({
    options: { 'data-dir': folder, engine: 'embedded', 'rest-port': 8 } as NodeOptions,
    open: async (options, membership) => {
      ports.push([options['rest-port'], options['kv-port']]);
      memberships.push(membership);
      if (file.read()?.state === 'joining') file.write({ ...parameters, state: 'member' });
      return { node, identity: { nodeId: 'a' }, onServers: null } as unknown as OpenedNode;
    },
    folderKey: () => new Uint8Array(32),
    server: {} as RunningNodeDeps['server'],
    onLost: (error) => assert.fail(error),
    log: silentLog,
  });
  await running.open();
  running.becameReady();
  memberships[0]?.join(parameters);
  await running.restarted();
  assert.deepEqual(starts, ['member', 'leaving']);
  assert.deepEqual(ports.at(-1), [8, 7]);
});
