// The faults of a cluster of three nodes on machines of their own: how each begins and how it ends.
import assert from 'node:assert/strict';
import type { Engine, MachineCluster } from './machine-cluster.ts';
import { eventuallyWithin } from './node-process.ts';
import type { FaultyServer } from './own-nats-server.ts';
import type { Random } from './random.ts';

export const clusterSize = 3;
/** How long the cluster may take until it serves every document again. */
export const recoveredMs = 60_000;

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
 * Not a founder, which has the configuration: without `allowUnsafe` another node cannot fail it over, and after its configuration was restored
 * to an older state the others no longer follow it.
 */
const anyFollower = ({ random, cluster }: FaultScene): number =>
  cluster.natsServers.length > 0 ? anyNode(random) : 1 + random(clusterSize - 1);
const otherNodes = (node: number): number[] => [0, 1, 2].filter((other) => other !== node);
/** A machine other than the node's own: it runs another node, or a NATS server. */
const anyOther = (node: number, { cluster, random }: FaultScene): number =>
  (node + 1 + random(cluster.network.size - 1)) % cluster.network.size;

const restart =
  (signal: 'SIGKILL' | 'SIGTERM'): Fault =>
  async ({ cluster, random }) => {
    const at = anyNode(random);
    await cluster.node(at).stop(signal);
    return () => cluster.start(at);
  };

/** Makes a node fail, so that another node fails it over, and brings it back. */
interface Failure {
  begin(cluster: MachineCluster, at: number): Promise<unknown>;
  end(cluster: MachineCluster, at: number): Promise<void>;
}

/**
 * The other nodes serve the shards of the failed one before it comes back, and clients write there: answers of the
 * failed node are outdated then.
 */
const failover =
  ({ begin, end }: Failure): Fault =>
  async (scene) => {
    const { cluster, random, writtenAnew } = scene;
    const at = anyFollower(scene);
    const by = otherNodes(at)[random(clusterSize - 1)] as number;
    const recoveryType = random(2) === 0 ? 'delta' : 'full';
    await begin(cluster, at);
    await eventuallyWithin(recoveredMs, async () => assert.equal(await cluster.failOver(at, by), 200));
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
    begin: async (cluster, at) => cluster.network.isolate(at),
    end: async (cluster) => cluster.network.healAll(),
  }),
};

const faults: Readonly<Record<string, Fault>> = {
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
    cluster.network.isolate(anyNode(random));
    return async () => cluster.network.healAll();
  },
  'loss in one direction': async (scene) => {
    const { network } = scene.cluster;
    const from = anyNode(scene.random);
    network.cut(from, anyOther(from, scene));
    return async () => network.healAll();
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
  'older data folder restored': async (scene) => {
    const { cluster, random, writtenAnew } = scene;
    const at = anyFollower(scene);
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

const anyServer = ({ random, cluster }: FaultScene): number => random(cluster.natsServers.length);
const serverAt = ({ cluster }: FaultScene, at: number): FaultyServer =>
  cluster.natsServers[at] as FaultyServer;

const natsFaults: Readonly<Record<string, Fault>> = {
  'NATS server killed': async (scene) => {
    const server = serverAt(scene, anyServer(scene));
    await server.stop('SIGKILL');
    return () => server.start();
  },
  'NATS server paused': async (scene) => {
    const server = serverAt(scene, anyServer(scene));
    server.pause();
    return async () => server.resume();
  },
  'NATS server isolated': async (scene) => {
    const { cluster } = scene;
    cluster.network.isolate(cluster.machineOfNats(anyServer(scene)));
    return async () => cluster.network.healAll();
  },
  'NATS server delayed': async (scene) => {
    const { cluster, random } = scene;
    await cluster.network.delay(cluster.machineOfNats(anyServer(scene)), [20, 200, 700][random(3)] as number);
    return async () => cluster.network.healAll();
  },
  'all NATS servers killed': async ({ cluster: { natsServers } }) => {
    await Promise.all(natsServers.map((server) => server.stop('SIGKILL')));
    return async () => void (await Promise.all(natsServers.map((server) => server.start())));
  },
  'all NATS servers paused': async ({ cluster: { natsServers } }) => {
    for (const server of natsServers) server.pause();
    return async () => {
      for (const server of natsServers) server.resume();
    };
  },
};

/** The faults that can happen to a cluster with that engine. */
export const faultsWith = (engine: Engine): Readonly<Record<string, Fault>> =>
  engine === 'embedded' ? faults : { ...faults, ...natsFaults };
