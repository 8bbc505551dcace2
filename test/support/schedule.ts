// One random schedule of a simulated cluster: clients write and read while faults happen; then all faults end, and the cluster must become
// stable with equal copies.
import { Status } from '#wire/status.ts';
import { randomFrom } from './random.ts';
import type { RecordingLog } from './recording-log.ts';
import { ScheduleChanges } from './schedule-changes.ts';
import { ScheduleClients } from './schedule-clients.ts';
import { ScheduleFaults } from './schedule-faults.ts';
import { ScheduleOrchestrators } from './schedule-orchestrators.ts';
import { ScheduledCluster } from './scheduled-cluster.ts';
import type { ScheduledNode } from './scheduled-node.ts';

const stableWithinMs = 300_000;
/** After this time processes whose files have failed are started again, whatever is lost. */
const failedMs = 60_000;
/** A plan that has not ended after this time is stopped: no move of these few documents takes as long. */
const stuckAfterMs = 15_000;

export interface ScheduleReport {
  readonly seed: number;
  /** What contradicts the rules; null: nothing. */
  readonly problem: string | null;
  readonly clients: ScheduleClients['counts'];
  readonly faults: ScheduleFaults['counts'];
  readonly bucket: ScheduledCluster['bucket']['counts'];
  /** `memory`: the number of shards whose in-sync set, a majority, lost the memory of all its members. `givenUp`: the number of shards whose last copy was given up. */
  readonly lost: { readonly memory: number; readonly givenUp: number };
  /** Vbuckets of copies that were rolled back by key, the rows that this removed, and those that began from nothing. */
  readonly rollbacks: { readonly byKey: number; readonly rows: number; readonly emptied: number };
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
  const changes = new ScheduleChanges(cluster, orchestrators);
  const faults = new ScheduleFaults(cluster, orchestrators, changes);
  await clock.run(3_000);
  clients.begin();
  faults.begin();
  await clock.run(5_000 + random(15_000));
  faults.heal();
  orchestrators.usesPlanner = true;
  await becomeStable(cluster, { changes, clients, faults, orchestrators });
  clients.check();
  const lost = { memory: cluster.memoryLost.size, givenUp: cluster.givenUp.size };
  for (const name of cluster.names) cluster.kill(name);
  return {
    seed,
    problem: clients.problem,
    clients: clients.counts,
    faults: faults.counts,
    bucket: cluster.bucket.counts,
    lost,
    rollbacks: rollbacksIn(cluster.log),
    epochs: cluster.current.shards.reduce((sum, { epoch }) => sum + epoch, 0),
    lastedMs: clock.monotonicMs(),
    digest: clients.digest,
  };
}

const rollbacksIn = ({ emptied, rolledBack }: RecordingLog): ScheduleReport['rollbacks'] => ({
  byKey: rolledBack.length,
  rows: rolledBack.reduce((sum, { removed }) => sum + Number(removed), 0),
  emptied: emptied.reduce((sum, { vbuckets }) => sum + Number(vbuckets), 0),
});

interface Actors {
  readonly changes: ScheduleChanges;
  readonly clients: ScheduleClients;
  readonly faults: ScheduleFaults;
  readonly orchestrators: ScheduleOrchestrators;
}

async function becomeStable(cluster: ScheduledCluster, actors: Actors): Promise<void> {
  const { changes, clients, faults, orchestrators } = actors;
  const { clock } = cluster;
  await clock.run(2_000);
  clients.stop();
  cluster.bucket.heal();
  const untilMs = clock.monotonicMs() + stableWithinMs;
  let sinceMs = clock.monotonicMs();
  let plan = cluster.state.balance?.id;
  while (!(await staysStable(cluster, actors))) {
    if (clock.monotonicMs() > untilMs)
      return clients.fail(`the cluster does not become stable: ${describe(cluster)}`);
    const { balance, lastBalance, nodes } = cluster.state;
    const isWhole = nodes.every(({ membership }) => membership === 'active');
    const isBalanced = lastBalance?.outcome === 'completed' && lastBalance.kind === 'rebalance';
    // The simulation writes the goals of a plan before the plan, which may be lost.
    // While the bucket does not exist, no rebalance delays its creation.
    const isPlanned = cluster.bucket.record === null || (changes.isFollowed && !cluster.current.forward);
    const isDue = !isWhole || !isBalanced || !isPlanned || cluster.state.needsRebalance === true;
    if (balance?.id !== plan) sinceMs = clock.monotonicMs();
    plan = balance?.id;
    const isStuck = clock.monotonicMs() - sinceMs > stuckAfterMs;
    // As an operator does: stops a plan that cannot continue, and gives up shards whose in-sync set has lost the memory of all its members.
    if (isStuck && balance && !balance.stopping) void orchestrators.stopPlan('the plan does not end');
    else if (balance === undefined && orchestrators.isLost && (lastBalance?.outcome === 'failed' || isStuck))
      void orchestrators.giveUp();
    else if (balance === undefined && isDue) void orchestrators.rebalance();
    faults.restartFailed(untilMs - clock.monotonicMs() < stableWithinMs - failedMs);
    await clock.run(500);
  }
  await compareCopies(cluster, clients);
}

/** A change that the store makes late, ten seconds at most after the faults, may make the cluster unstable again. */
async function staysStable(cluster: ScheduledCluster, { changes, clients }: Actors): Promise<boolean> {
  const { clock, vbucketCount } = cluster;
  const isStillStable = (): boolean =>
    isStable(cluster) && changes.isFollowed && isServed(cluster, clients) && isResolved(cluster, clients);
  if (!isStillStable()) return false;
  await clock.run(5_000);
  // Documents that have expired are removed when their active reads them.
  for (let vb = 0; vb < vbucketCount; vb++) {
    const active = clients.serving(vb);
    if (active === null) return false;
    for (const key of cluster.bucket.keys) clients.readFinal(active, vb, key);
  }
  await clock.run(2_000);
  return isStillStable();
}

/** Every shard is served by its active, with all copies in its in-sync set, and every node knows it. */
function isStable({ bucket, current, isConfigurationSeen, running, state }: ScheduledCluster): boolean {
  if (!isConfigurationSeen || bucket.record === null) return false;
  const bootOf = (at: number): string | undefined => running.get(current.nodes[at] ?? '')?.node.boot;
  if (state.balance !== undefined || state.nodes.some(({ membership }) => membership !== 'active'))
    return false;
  return current.shards.every(({ chain, confirmed, inSync = [] }) => {
    const isFull = chain.every((at) => inSync.some(([member, boot]) => member === at && boot === bootOf(at)));
    return isFull && inSync.length === bucket.replicaNumber + 1 && confirmed === bootOf(chain[0] as number);
  });
}

const isServed = ({ vbucketCount }: ScheduledCluster, clients: ScheduleClients): boolean =>
  Array.from({ length: vbucketCount }, (_, vb) => clients.serving(vb)).every((node) => node !== null);

/** No durable write waits for a slow disk. */
const isResolved = ({ vbucketCount }: ScheduledCluster, clients: ScheduleClients): boolean =>
  Array.from({ length: vbucketCount }, (_, vb) => clients.serving(vb)?.bucket.isResolved([vb])).every(
    Boolean,
  );

const describe = ({ bucket, current, memoryLost, running, state }: ScheduledCluster): string =>
  JSON.stringify({
    bucket: bucket.record,
    groups: state.nodes.map(({ group }) => group),
    needsRebalance: state.needsRebalance,
    shards: current.shards,
    nodes: current.nodes,
    balance: state.balance,
    lastBalance: state.lastBalance,
    boots: [...running.values()].map(({ node }) => node.boot),
    memoryLost: [...memoryLost],
  });

/**
 * Checks that all copies of each vbucket are equal: their documents, and their numbers of documents and tombstones. Tombstones that one of
 * them has purged make no difference.
 */
async function compareCopies(cluster: ScheduledCluster, clients: ScheduleClients): Promise<void> {
  for (let vb = 0; vb < cluster.vbucketCount; vb++) {
    const difference = await differenceAt(vb, cluster, clients);
    if (difference !== null) clients.fail(difference);
  }
}

async function differenceAt(
  vb: number,
  cluster: ScheduledCluster,
  clients: ScheduleClients,
): Promise<string | null> {
  const { bucket, current, running, shardCount } = cluster;
  const active = clients.serving(vb);
  if (active === null) return `no node serves vbucket ${vb}`;
  const read = (node: ScheduledNode, key: string): Promise<string | Status> =>
    readBy(node, { cluster, clients, vb, key });
  for (const at of current.shards[vb % shardCount]?.chain ?? []) {
    const copy = running.get(current.nodes[at] ?? '')?.node;
    if (!copy?.open) return `no copy of vbucket ${vb} at ${at}`;
    const { replicaNumber } = copy.bucket.rules;
    if (replicaNumber !== bucket.replicaNumber) return `${copy.name} counts on ${replicaNumber} replicas`;
    for (const key of bucket.keys) {
      const [found, expected] = [await read(copy, key), await read(active, key)];
      const isNowhere = [found, expected].every(
        (answer) => answer === Status.keyNotFound || (bucket.compacts && isTombstone(answer)),
      );
      const isSame =
        found === expected || isNowhere || (typeof found === 'number' && expected === Status.keyNotFound);
      if (!isSame)
        return `${copy.name} has ${found} of ${vb} ${key}, and its active ${active.name} ${expected}`;
    }
    const [has, should] = [copy, active].map((node) => figuresOf(node, vb, bucket));
    if (has !== should)
      return `${copy.name} has vbucket ${vb} up to ${has}, and its active ${active.name} up to ${should}`;
  }
  return null;
}

/** As `ScheduledNode.read`, after a read from disk where that is necessary. */
async function readBy(
  node: ScheduledNode,
  {
    clients,
    cluster,
    key,
    vb,
  }: { cluster: ScheduledCluster; clients: ScheduleClients; vb: number; key: string },
): Promise<string | Status> {
  let answer: string | Status | null = null;
  clients.whenResident(
    node,
    () => node.read(key, vb),
    (found) => {
      answer = found;
    },
  );
  for (let waited = 0; answer === null && waited < 10_000; waited += 10) await cluster.clock.run(10);
  return answer ?? Status.temporaryFailure;
}

const isTombstone = (answer: string | Status): boolean =>
  typeof answer === 'string' && Boolean((JSON.parse(answer) as unknown[])[5]);

function figuresOf(node: ScheduledNode, vb: number, counts: ScheduledCluster['bucket']): string {
  const { highSeqno, items, tombstones } = node.bucket.columns;
  return JSON.stringify({
    high: highSeqno[vb],
    items: items[vb],
    tombstones: counts.countsAllTombstones ? tombstones[vb] : 'any',
  });
}
