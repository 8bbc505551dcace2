// One random schedule of a simulated cluster: clients write and read while faults happen; then everything is healed, and the cluster must come to
// rest with equal copies.
import { Status } from '#wire/status.ts';
import { randomFrom } from './random.ts';
import { allKeys, ScheduleClients } from './schedule-clients.ts';
import { ScheduleFaults } from './schedule-faults.ts';
import { ScheduleOrchestrators } from './schedule-orchestrators.ts';
import { ScheduledCluster } from './scheduled-cluster.ts';

const restMaxMs = 300_000;
/** A plan that has not ended after this time is stopped: no move of these few documents takes as long. */
const stuckMs = 15_000;

export interface ScheduleReport {
  readonly seed: number;
  /** What contradicts the rules; null: nothing. */
  readonly problem: string | null;
  readonly clients: ScheduleClients['counts'];
  readonly faults: ScheduleFaults['counts'];
  /** Shards that lost every memory of a majority, and whose last copy was given up. */
  readonly lost: { readonly memory: number; readonly givenUp: number };
  readonly epochs: number;
  readonly lastedMs: number;
  readonly digest: number;
}

export async function runSchedule(seed: number): Promise<ScheduleReport> {
  const cluster = new ScheduledCluster(randomFrom(seed));
  const orchestrators = new ScheduleOrchestrators(cluster);
  const clients = new ScheduleClients(cluster);
  const { clock, random } = cluster;
  await cluster.begin();
  await orchestrators.begin();
  const faults = new ScheduleFaults(cluster, orchestrators);
  await clock.run(3_000);
  clients.begin();
  faults.begin();
  await clock.run(5_000 + random(15_000));
  faults.heal();
  await comeToRest(cluster, orchestrators, clients);
  clients.check();
  const lost = { memory: cluster.memoryLost.size, givenUp: cluster.givenUp.size };
  for (const name of cluster.names) cluster.kill(name);
  return {
    seed,
    problem: clients.problem,
    clients: clients.counts,
    faults: faults.counts,
    lost,
    epochs: cluster.current.shards.reduce((sum, { epoch }) => sum + epoch, 0),
    lastedMs: clock.monotonicMs(),
    digest: clients.digest,
  };
}

async function comeToRest(
  cluster: ScheduledCluster,
  orchestrators: ScheduleOrchestrators,
  clients: ScheduleClients,
): Promise<void> {
  const { clock } = cluster;
  await clock.run(2_000);
  clients.stop();
  const untilMs = clock.monotonicMs() + restMaxMs;
  let sinceMs = clock.monotonicMs();
  let plan = cluster.state.balance?.id;
  while (!isAtRest(cluster) || !isServed(cluster, clients)) {
    if (clock.monotonicMs() > untilMs) return clients.fail(`it does not come to rest: ${describe(cluster)}`);
    const { balance, lastBalance, nodes } = cluster.state;
    const isWhole = nodes.every(({ membership }) => membership === 'active');
    const isDue = !isWhole || lastBalance?.outcome !== 'completed' || lastBalance.kind !== 'rebalance';
    if (balance?.id !== plan) sinceMs = clock.monotonicMs();
    plan = balance?.id;
    const isStuck = clock.monotonicMs() - sinceMs > stuckMs;
    // As an operator does: a plan that cannot go on is stopped, and what has lost every memory is given up.
    if (isStuck && balance && !balance.stopping) void orchestrators.stopPlan('it does not end');
    else if (balance === undefined && lastBalance?.outcome === 'failed' && orchestrators.isLost)
      void orchestrators.giveUp();
    else if (balance === undefined && isDue) void orchestrators.rebalance();
    await clock.run(500);
  }
  await compareCopies(cluster, clients);
}

/** Every shard is served by its active, with all copies in its in-sync set. */
function isAtRest({ current, replicaNumber, running, state }: ScheduledCluster): boolean {
  const bootOf = (at: number): string | undefined => running.get(current.nodes[at] ?? '')?.node.boot;
  if (state.balance !== undefined || state.nodes.some(({ membership }) => membership !== 'active'))
    return false;
  return current.shards.every(({ chain, confirmed, inSync = [] }) => {
    const isFull = chain.every((at) => inSync.some(([member, boot]) => member === at && boot === bootOf(at)));
    return isFull && inSync.length === replicaNumber + 1 && confirmed === bootOf(chain[0] as number);
  });
}

const isServed = ({ vbucketCount }: ScheduledCluster, clients: ScheduleClients): boolean =>
  Array.from({ length: vbucketCount }, (_, vb) => clients.serving(vb)).every((node) => node !== null);

const describe = ({ current, memoryLost, running, state }: ScheduledCluster): string =>
  JSON.stringify({
    shards: current.shards,
    nodes: current.nodes,
    balance: state.balance,
    lastBalance: state.lastBalance,
    boots: [...running.values()].map(({ node }) => node.boot),
    memoryLost: [...memoryLost],
  });

/** All copies of a shard are equal, document by document, with what was removed. */
async function compareCopies(cluster: ScheduledCluster, clients: ScheduleClients): Promise<void> {
  const { clock, current, running, shardCount, vbucketCount } = cluster;
  const actives = Array.from({ length: vbucketCount }, (_, vb) => clients.serving(vb));
  // Every expiry is over; documents that have expired are removed when their active reads them.
  await clock.run(5_000);
  for (const [vb, active] of actives.entries())
    for (const key of allKeys) if (active !== null) clients.readAtRest(active, vb, key);
  await clock.run(2_000);
  for (const [vb, active] of actives.entries()) {
    if (active === null) return clients.fail(`nobody serves vbucket ${vb}`);
    const chain = current.shards[vb % shardCount]?.chain ?? [];
    for (const at of chain) {
      const copy = running.get(current.nodes[at] ?? '')?.node;
      if (copy === undefined) return clients.fail(`no copy of vbucket ${vb} at ${at}`);
      for (const key of allKeys) {
        const [found, expected] = [copy.read(key, vb), active.read(key, vb)];
        if (found !== expected && (typeof found === 'string' || expected !== Status.keyNotFound))
          clients.fail(
            `${copy.name} has ${found} of ${vb} ${key}, and its active ${active.name} ${expected}`,
          );
      }
      const [has, should] = [copy, active].map(({ bucket }) => [
        bucket.rows.highSeqno[vb],
        bucket.rows.items[vb],
      ]);
      if (String(has) !== String(should))
        clients.fail(
          `${copy.name} has vbucket ${vb} up to ${has}, and its active ${active.name} up to ${should}`,
        );
    }
  }
}
