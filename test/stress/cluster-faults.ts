// Faults in random order on a cluster of three nodes, each on a machine of its own, while clients write and read with durability
// `majority`: for each document an order of the operations must exist that explains every answer, and in the end all copies are equal.
// `node test/stress/cluster-faults.ts [minutes] [fault] [--engine nats|own-nats]`, default 30 minutes, all faults, and the configuration on the
// founder; DIVAN_SEED repeats the order of the faults.
import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { type Cluster, type Collection, connect, DurabilityLevel } from 'couchbase';
import { assertEqualCopies } from '../support/cluster-copies.ts';
import { clusterSize, type Fault, failovers, faultsWith, recoveredMs } from '../support/cluster-faults.ts';
import { DirectReader } from '../support/direct-reader.ts';
import { isLinearizable, type Operation } from '../support/linearizable.ts';
import { dataPort, type Engine, engines, MachineCluster } from '../support/machine-cluster.ts';
import { administrator, eventuallyWithin } from '../support/node-process.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { RegisterClients } from '../support/register-clients.ts';
import { printedSeed } from '../support/seed.ts';

const keysOfRound = 6;
const durable = { durabilityLevel: DurabilityLevel.Majority, timeout: 3_000 };
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class FaultRun {
  readonly counts: Record<string, number> = {};
  private readonly random: Random;
  private readonly machines: MachineCluster;
  private readonly client: Cluster;
  private readonly pauseMsMax: number | undefined;
  private rounds = 0;

  private constructor(
    machines: MachineCluster,
    client: Cluster,
    { random, pauseMsMax }: Pick<FaultRounds, 'random' | 'pauseMsMax'>,
  ) {
    this.machines = machines;
    this.pauseMsMax = pauseMsMax;
    this.client = client;
    this.random = random;
  }

  static async start(asked: Pick<FaultRounds, 'random' | 'pauseMsMax'>, engine: Engine): Promise<FaultRun> {
    const machines = await MachineCluster.start(clusterSize, engine);
    try {
      await machines.createBucket('b', clusterSize - 1);
      const client = await connect(machines.connectionString, administrator);
      return new FaultRun(machines, client, asked);
    } catch (error) {
      await machines[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.machines[Symbol.asyncDispose]();
  }

  /**
   * A round with one of the faults.
   * @throws AssertionError when an answer contradicts the others, or the cluster does not heal
   */
  async round(faults: Readonly<Record<string, Fault>>): Promise<void> {
    const round = ++this.rounds;
    const { random } = this;
    const names = Object.keys(faults);
    const name = names[random(names.length)] as string;
    const keys = Array.from({ length: keysOfRound }, (_, key) => `r${round}-${key}`);
    await this.whenHealed(`before round ${round}`);
    const clients = new RegisterClients(this.collection, keys, random, this.pauseMsMax);
    const readers = [0, 1, 2].map((at) => this.readerOf(at, keys, clients));
    await wait(300 + random(700));
    const cluster = this.machines;
    const writtenAnew = (): Promise<void> => clients.writtenAnew(recoveredMs);
    const end = await (faults[name] as Fault)({ cluster, random, writtenAnew });
    await wait(200 + random(random(4) === 0 ? 12_000 : 2_000));
    await end();
    await wait(random(3_000));
    await Promise.all([clients, ...readers].map((part) => part.stop()));
    const directReads = readers.reduce((sum, { answers }) => sum + answers, 0);
    assert.ok(directReads > 0, 'no node answered a read that was sent to it alone');
    this.add({ ...clients.counts, [name]: 1, rounds: 1, 'direct reads': directReads });
    const after = `round ${round}, after ${name}`;
    try {
      await this.whenHealed(after);
      await clients.readAll();
    } finally {
      assertLinearizable(clients, after);
    }
    await eventuallyWithin(recoveredMs, () => assertEqualCopies(cluster.all, 'b', clusterSize - 1));
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
      await eventuallyWithin(recoveredMs, async () => {
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

function assertLinearizable({ histories }: RegisterClients, when: string): void {
  for (const [key, history] of histories) {
    const report = `${when}, ${key}:\n${described(history)}`;
    try {
      assert.ok(isLinearizable(history), report);
    } catch (cause) {
      throw new Error(report, { cause });
    }
  }
}

const described = (history: readonly object[]): string =>
  history.map((operation) => JSON.stringify(operation)).join('\n');

export interface FaultRounds {
  isEnough: () => boolean;
  /** Rounds with each cluster, before a failover. */
  rounds: number;
  random: Random;
  report: (line: string) => void;
  /** The longest pause of a client between two operations. */
  pauseMsMax?: number;
  /** Only this fault; omitted: all. */
  fault?: string | undefined;
  engine?: Engine;
}

/** Clusters one after the other, each with some rounds and a failover, until there are enough. */
export async function faultRounds(asked: FaultRounds): Promise<void> {
  const { engine = 'embedded', fault, isEnough, report, rounds } = asked;
  const faults = faultsWith(engine);
  const only = fault === undefined ? null : { [fault]: faults[fault] as Fault };
  do {
    await using run = await FaultRun.start(asked, engine);
    for (let round = 0; round < rounds; round++) await run.round(only ?? faults);
    await run.round(only ?? failovers);
    report(JSON.stringify(run.counts));
  } while (!isEnough());
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { engine: { type: 'string' } },
  });
  const [minutes = '30', fault] = positionals;
  const { engine = 'embedded' } = values;
  const named = engines.find((name) => name === engine) ?? assert.fail(`--engine is ${engines.join(' or ')}`);
  assert.ok(fault === undefined || fault in faultsWith(named), `no fault is named "${fault}"`);
  const endMs = performance.now() + Number(minutes) * 60_000;
  await faultRounds({
    isEnough: () => performance.now() >= endMs,
    rounds: 8,
    random: randomFrom(printedSeed(console.log)),
    report: console.log,
    fault,
    engine: named,
  });
}
