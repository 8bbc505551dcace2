// What can happen to a cluster of three nodes on machines of their own, and how it ends.
import assert from 'node:assert/strict';
import type { MachineCluster } from './machine-cluster.ts';
import { eventuallyWithin } from './node-process.ts';
import type { Random } from './random.ts';

export const clusterSize = 3;
/** How long the cluster may take until it serves every document again. */
export const healedMs = 60_000;

export interface FaultScene {
  readonly cluster: MachineCluster;
  readonly random: Random;
  /** Resolves once each document has been written by a client that began after the call. */
  writtenAnew(): Promise<void>;
}

/** Begins a fault; the function that it returns ends it. */
export type Fault = (scene: FaultScene) => Promise<() => Promise<void>>;

const anyNode = (random: Random): number => random(clusterSize);
/**
 * Not the founder, which has the configuration: another node cannot fail it over, and where it went back to an older configuration, the
 * others follow it no longer.
 */
const anyFollower = (random: Random): number => 1 + random(clusterSize - 1);
const others = (node: number): number[] => [0, 1, 2].filter((other) => other !== node);
const isolate = ({ network }: MachineCluster, alone: number): void => {
  for (const other of others(alone)) {
    network.cut(alone, other);
    network.cut(other, alone);
  }
};

const restart =
  (signal: 'SIGKILL' | 'SIGTERM'): Fault =>
  async ({ cluster, random }) => {
    const at = anyNode(random);
    await cluster.node(at).stop(signal);
    return () => cluster.start(at);
  };

/** What fails a node before another node fails it over, and what brings it back. */
interface Failure {
  begin(cluster: MachineCluster, at: number): Promise<unknown>;
  end(cluster: MachineCluster, at: number): Promise<void>;
}

/**
 * The other nodes serve the shards of the failed one before it comes back, and clients write there: what the failed one still answers is
 * old then.
 */
const failover =
  ({ begin, end }: Failure): Fault =>
  async ({ cluster, random, writtenAnew }) => {
    const at = anyFollower(random);
    const by = others(at)[random(clusterSize - 1)] as number;
    const recoveryType = random(2) === 0 ? 'delta' : 'full';
    await begin(cluster, at);
    await eventuallyWithin(healedMs, async () => assert.equal(await cluster.failOver(at, by), 200));
    await writtenAnew();
    return async () => {
      await end(cluster, at);
      await cluster.recover(at, by, recoveryType);
    };
  };

export const failovers: Readonly<Record<string, Fault>> = {
  'failover of a killed node': failover({
    begin: (cluster, at) => cluster.node(at).stop('SIGKILL'),
    end: (cluster, at) => cluster.start(at),
  }),
  'failover of a paused node': failover({
    begin: async (cluster, at) => process.kill(cluster.node(at).pid, 'SIGSTOP'),
    end: async (cluster, at) => void process.kill(cluster.node(at).pid, 'SIGCONT'),
  }),
  'failover of an isolated node': failover({
    begin: async (cluster, at) => isolate(cluster, at),
    end: async (cluster) => cluster.network.healAll(),
  }),
};

export const faults: Readonly<Record<string, Fault>> = {
  'kill and restart at once': async ({ cluster, random }) => {
    const at = anyNode(random);
    await cluster.node(at).stop('SIGKILL');
    const started = cluster.start(at);
    return () => started;
  },
  'kill and restart later': restart('SIGKILL'),
  'stop and restart': restart('SIGTERM'),
  pause: async ({ cluster, random }) => {
    const { pid } = cluster.node(anyNode(random));
    process.kill(pid, 'SIGSTOP');
    return async () => void process.kill(pid, 'SIGCONT');
  },
  partition: async ({ cluster, random }) => {
    isolate(cluster, anyNode(random));
    return async () => cluster.network.healAll();
  },
  'loss in one direction': async ({ cluster, random }) => {
    const from = anyNode(random);
    cluster.network.cut(from, others(from)[random(clusterSize - 1)] as number);
    return async () => cluster.network.healAll();
  },
  delay: async ({ cluster, random }) => {
    await cluster.network.delay(anyNode(random), [20, 200, 700, 2_000][random(4)] as number);
    return async () => cluster.network.healAll();
  },
  'clock set': async ({ cluster, random }) => {
    const machine = cluster.machine(anyNode(random));
    machine.setClock((random(2) === 0 ? 1 : -1) * (1_000 + random(3_600_000)));
    return async () => machine.setClock(0);
  },
  'disk full': async ({ cluster, random }) => {
    const machine = cluster.machine(anyNode(random));
    machine.fillDisk();
    return async () => machine.freeDisk();
  },
  'older data folder put back': async ({ cluster, random, writtenAnew }) => {
    const at = anyFollower(random);
    const signal = random(2) === 0 ? 'SIGKILL' : 'SIGTERM';
    await cluster.node(at).stop(signal);
    cluster.machine(at).keepFolder();
    await cluster.start(at);
    await writtenAnew();
    await cluster.node(at).stop(signal);
    cluster.machine(at).putFolderBack();
    return () => cluster.start(at);
  },
  ...failovers,
};
