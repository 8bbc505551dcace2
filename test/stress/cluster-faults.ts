// Faults in random order on a cluster of three nodes, each on a machine of its own, while clients write and read with durability
// `majority`: for each document an order of the operations must exist that explains every answer, and in the end all copies are equal.
// `node test/stress/cluster-faults.ts [minutes]`, default 30; DIVAN_SEED repeats the order of the faults.
import assert from 'node:assert/strict';
import { type Cluster, type Collection, connect, DurabilityLevel } from 'couchbase';
import { assertEqualCopies } from '../support/cluster-copies.ts';
import { DirectReader } from '../support/direct-reader.ts';
import { isLinearizable, type Operation } from '../support/linearizable.ts';
import { dataPort, MachineCluster } from '../support/machine-cluster.ts';
import { administrator, eventuallyWithin } from '../support/node-process.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { RegisterClients } from '../support/register-clients.ts';
import { printedSeed } from '../support/seed.ts';

const size = 3;
const keysOfRound = 6;
/** How long the cluster may take until it serves every document again. */
const healedMs = 60_000;
const durable = { durabilityLevel: DurabilityLevel.Majority, timeout: 3_000 };
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Begins a fault; the function that it returns ends it. */
type Fault = (cluster: MachineCluster, random: Random) => Promise<() => Promise<void>>;
const anyNode = (random: Random): number => random(size);

export const faults: Readonly<Record<string, Fault>> = {
  'kill and restart at once': async (cluster, random) => {
    const at = anyNode(random);
    await cluster.node(at).stop('SIGKILL');
    const started = cluster.start(at);
    return () => started;
  },
  'kill and restart later': async (cluster, random) => {
    const at = anyNode(random);
    await cluster.node(at).stop('SIGKILL');
    return () => cluster.start(at);
  },
  'stop and restart': async (cluster, random) => {
    const at = anyNode(random);
    await cluster.node(at).stop('SIGTERM');
    return () => cluster.start(at);
  },
  pause: async (cluster, random) => {
    const { pid } = cluster.node(anyNode(random));
    process.kill(pid, 'SIGSTOP');
    return async () => void process.kill(pid, 'SIGCONT');
  },
  partition: async (cluster, random) => {
    const alone = anyNode(random);
    for (const other of others(alone)) {
      cluster.network.cut(alone, other);
      cluster.network.cut(other, alone);
    }
    return async () => cluster.network.healAll();
  },
  'loss in one direction': async (cluster, random) => {
    const from = anyNode(random);
    cluster.network.cut(from, others(from)[random(size - 1)] as number);
    return async () => cluster.network.healAll();
  },
};

/** A failover, after which the cluster has two nodes. */
const failover =
  (signal: 'SIGKILL' | 'SIGSTOP'): Fault =>
  async (cluster, random) => {
    const at = 1 + random(size - 1);
    const node = cluster.node(at);
    process.kill(node.pid, signal);
    const by = others(at)[random(size - 1)] as number;
    await eventuallyWithin(healedMs, async () => assert.equal(await cluster.failOver(at, by), 200));
    return async () => void (signal === 'SIGSTOP' && process.kill(node.pid, 'SIGCONT'));
  };

const lastFaults: Readonly<Record<string, Fault>> = {
  'failover of a killed node': failover('SIGKILL'),
  'failover of a paused node': failover('SIGSTOP'),
};

const others = (node: number): number[] => [0, 1, 2].filter((other) => other !== node);

export class FaultRun {
  readonly counts: Record<string, number> = {};
  private readonly random: Random;
  private readonly machines: MachineCluster;
  private readonly client: Cluster;
  private rounds = 0;

  private constructor(machines: MachineCluster, client: Cluster, random: Random) {
    this.machines = machines;
    this.client = client;
    this.random = random;
  }

  static async start(random: Random): Promise<FaultRun> {
    const machines = await MachineCluster.of(size);
    try {
      await machines.createBucket('b', 2);
      const client = await connect(machines.connectionString, administrator);
      return new FaultRun(machines, client, random);
    } catch (error) {
      await machines[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.machines[Symbol.asyncDispose]();
  }

  /** @throws AssertionError when an answer contradicts the others, or the cluster does not heal */
  round(): Promise<void> {
    return this.roundOf(faults);
  }

  /** Ends with a failover; no round can follow. */
  lastRound(): Promise<void> {
    return this.roundOf(lastFaults);
  }

  private async roundOf(known: Readonly<Record<string, Fault>>): Promise<void> {
    const round = ++this.rounds;
    const { random } = this;
    const names = Object.keys(known);
    const name = names[random(names.length)] as string;
    const keys = Array.from({ length: keysOfRound }, (_, key) => `r${round}-${key}`);
    await this.whenHealed(`before round ${round}`);
    const clients = new RegisterClients(this.collection, keys, random);
    const readers = [0, 1, 2].map((at) => this.readerOf(at, keys, clients));
    await wait(300 + random(700));
    const end = await (known[name] as Fault)(this.machines, random);
    await wait(200 + random(random(4) === 0 ? 12_000 : 2_000));
    await end();
    await wait(random(3_000));
    await Promise.all([clients, ...readers].map((one) => one.stop()));
    this.add({ ...clients.counts, [name]: 1, rounds: 1 });
    await this.whenHealed(`round ${round}, after ${name}`);
    await clients.readAll();
    const { members } = this.machines;
    await eventuallyWithin(healedMs, () => assertEqualCopies(members, 'b', members.length - 1));
    for (const [key, history] of clients.histories)
      assert.ok(isLinearizable(history), `round ${round}, ${name}, ${key}:\n${described(history)}`);
  }

  private get collection(): Collection {
    return this.client.bucket('b').defaultCollection();
  }

  private readerOf(at: number, keys: readonly string[], clients: RegisterClients): DirectReader {
    const host = this.machines.network.addressOf(at);
    const note = (key: string, read: Operation): void => clients.note(key, read);
    return new DirectReader({ host, port: dataPort, bucket: 'b', keys, random: this.random, note });
  }

  /** Waits until durable writes succeed for 48 keys, which are enough to reach vbuckets of every node. */
  private async whenHealed(when: string): Promise<void> {
    for (let probe = 0; probe < 48; probe++) {
      const key = `probe-${probe}`;
      await eventuallyWithin(healedMs, async () => {
        try {
          await this.collection.upsert(key, when, durable);
        } catch (error) {
          const { name } = error as Error;
          throw new Error(`${when}: ${name} for ${key}; ${await this.machines.report()}`, { cause: error });
        }
      });
    }
  }

  private add(counts: Readonly<Record<string, number>>): void {
    for (const [what, count] of Object.entries(counts)) this.counts[what] = (this.counts[what] ?? 0) + count;
  }
}

const described = (history: readonly object[]): string =>
  history.map((operation) => JSON.stringify(operation)).join('\n');

/** Clusters one after the other, each with some rounds and a failover, until `isEnough` returns true. */
export async function faultRounds(
  isEnough: () => boolean,
  rounds: number,
  random: Random,
  report: (line: string) => void = () => {},
): Promise<void> {
  do {
    await using run = await FaultRun.start(random);
    for (let round = 0; round < rounds; round++) await run.round();
    await run.lastRound();
    report(JSON.stringify(run.counts));
  } while (!isEnough());
}

if (import.meta.main) {
  const endMs = performance.now() + Number(process.argv[2] ?? 30) * 60_000;
  const roundsPerCluster = 8;
  const isEnough = (): boolean => performance.now() >= endMs;
  await faultRounds(isEnough, roundsPerCluster, randomFrom(printedSeed(console.log)), console.log);
}
