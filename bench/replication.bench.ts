// The processor time of a write without a copy, with one, and with `majority`: both nodes are in this thread, without clients, TLS and disk.
// Other load of the machine hardly affects processor time.
import { DurabilityLevel } from '../src/kv/data/documents.ts';
import { Status } from '../src/wire/status.ts';
import type { Random } from '../test/support/random.ts';
import { type NodeHost, ReplicatedNode } from '../test/support/replicated-cluster.ts';
import { SharedMap } from '../test/support/shared-map.ts';
import { SimulatedClock } from '../test/support/simulated-clock.ts';
import { SimulatedLinks } from '../test/support/simulated-links.ts';

const names = ['a', 'b'];
const vbucketCount = 1024;
const shardCount = 64;
const keyCount = 20_000;
/** Writes of one batch. */
const batchSize = 64;
const value = 'v'.repeat(256);
const noRandom: Random = () => 0;

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const batches = smoke ? 20 : 4_000;
  const plain = await measured(0, batches, DurabilityLevel.none);
  print('no copy', plain);
  print('one copy', await measured(1, batches, DurabilityLevel.none), plain);
  print('one copy, majority', await measured(1, batches, DurabilityLevel.majority), plain);
}

/** Microseconds of processor time of a write. */
async function measured(
  replicaNumber: number,
  batches: number,
  durability: DurabilityLevel,
): Promise<number> {
  const clock = new SimulatedClock();
  const links = new SimulatedLinks(clock, noRandom);
  links.delayMaxMs = 0;
  const chain = names.map((_, position) => position).slice(0, replicaNumber + 1);
  const shards = Array.from({ length: shardCount }, () => ({ epoch: 1, chain }));
  const map = new SharedMap(clock, { nodes: names, shards });
  const host: NodeHost = {
    clock,
    links,
    map,
    names,
    replicaNumber,
    vbucketCount,
    shardCount,
    random: noRandom,
    promiseMs: 10_000,
  };
  const nodes = names.map((name) => new ReplicatedNode(host, name, `${name} 1`));
  for (const node of nodes) await node.start('none');
  await clock.run(4_000);
  const [active] = nodes as [ReplicatedNode];
  await write(active, batches / 2, durability);
  const cpuBefore = process.threadCpuUsage();
  await write(active, batches, durability);
  const { system, user } = process.threadCpuUsage(cpuBefore);
  for (const node of nodes) node.crash();
  return (system + user) / (batches * batchSize);
}

async function write(active: ReplicatedNode, batches: number, durability: DurabilityLevel): Promise<void> {
  let next = 0;
  for (let batch = 0; batch < batches; batch++) {
    for (let i = 0; i < batchSize; i++) {
      const key = next++ % keyCount;
      const status = active.store(`user:profile:${key}`, key % vbucketCount, { value, durability });
      if (status !== Status.success) throw new Error(`a write was answered with status ${status}`);
    }
    await active.cluster.clock.run(1);
  }
}

const print = (what: string, us: number, plain = us): void =>
  console.log(`${what.padEnd(20)} ${us.toFixed(2)} µs a write, ${(us / plain).toFixed(2)}×`);
