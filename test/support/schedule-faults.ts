// The faults of a simulated schedule: at random times something happens to a process, a connection or the configuration store, an
// orchestrator plans a failover or a rebalance, or an administrator changes the bucket.
import { noStoreFaults } from './faulty-config-store.ts';
import type { ScheduleChanges } from './schedule-changes.ts';
import { pick, plainKeys } from './schedule-keys.ts';
import type { ScheduleOrchestrators } from './schedule-orchestrators.ts';
import type { Process, ScheduledCluster } from './scheduled-cluster.ts';

export const faultNames = [
  'quick restart',
  'restart',
  'stop',
  'stop all',
  'partition',
  'one-way loss',
  'delay',
  'cut from the store',
  'store down',
  'failover',
  'double failover',
  'lost writes',
  'rebalance',
  'fault during a handover',
  'two orchestrators',
  'full disk',
  'failed file',
  'other replica number',
  'other eviction policy',
  'flush',
  'recreated bucket',
  'other server groups',
] as const;
export type Fault = (typeof faultNames)[number];

/**
 * Faults of the configuration store: in every schedule, some share of its calls is delayed, lost, applied after they
 * were reported as failed, or answered with old values.
 */
const storeFaults = (random: (below: number) => number): typeof noStoreFaults => ({
  delayMaxMs: pick(random, [2, 20, 200]),
  lostRequestPercent: random(5),
  lostAnswerPercent: random(15),
  latePercent: random(5),
  stalePercent: random(30),
});

export class ScheduleFaults {
  readonly counts = Object.fromEntries(faultNames.map((name) => [name, 0])) as Record<Fault, number>;
  private readonly cluster: ScheduledCluster;
  private readonly orchestrators: ScheduleOrchestrators;
  private readonly changes: ScheduleChanges;
  /** In most schedules every shard keeps a member with all of its memory. */
  private readonly isCareful: boolean;
  private isStopped = false;

  constructor(cluster: ScheduledCluster, orchestrators: ScheduleOrchestrators, changes: ScheduleChanges) {
    this.cluster = cluster;
    this.orchestrators = orchestrators;
    this.changes = changes;
    this.isCareful = cluster.random(6) > 0;
  }

  begin(): void {
    const { random } = this.cluster;
    this.cluster.setStoreFaults(storeFaults(random));
    void this.run(500 + random(2_500));
  }

  private async run(pauseMs: number): Promise<void> {
    const { clock, random } = this.cluster;
    while (!this.isStopped) {
      await clock.sleep(random(pauseMs));
      if (!this.isStopped) this.cause(pick(random, faultNames));
    }
  }

  cause(fault: Fault): void {
    if (this.actions[fault]()) this.counts[fault]++;
  }

  /** Everything works again, and every process runs. */
  heal(): void {
    const { cluster } = this;
    this.isStopped = true;
    cluster.links.restoreAll();
    cluster.links.delayMaxMs = 2;
    cluster.setStoreFaults(noStoreFaults);
    for (const { store } of cluster.running.values()) store.isDown = false;
    for (const { store } of this.orchestrators.orchestrators) store.isDown = false;
    for (const name of cluster.names) if (!cluster.running.has(name)) cluster.start(name);
  }

  /** Each returns whether it happened. */
  private readonly actions: Record<Fault, () => boolean> = {
    'quick restart': () => this.restart(50 + this.random(900)),
    restart: () => this.restart(1_000 + this.random(12_000)),
    stop: () => this.stop(this.anyNodeName()),
    'stop all': () => this.stopAll(),
    partition: () => this.cut(this.anyNodeName(), true),
    'one-way loss': () => this.cut(this.anyNodeName(), false),
    delay: () => this.delay(),
    'cut from the store': () => this.withoutStore([this.cluster.running.get(this.anyNodeName())]),
    'store down': () =>
      this.withoutStore([...this.cluster.running.values(), ...this.orchestrators.orchestrators]),
    failover: () => this.failOver(this.anyNodeName()),
    'double failover': () => this.failOverTwice(),
    'lost writes': () => this.loseWrites(),
    rebalance: () => this.rebalanceOrDrain(),
    'fault during a handover': () => this.breakHandover(),
    'two orchestrators': () => {
      this.orchestrators.takeOver();
      return true;
    },
    'full disk': () => this.fillDisk(),
    'failed file': () => this.failFile(this.cluster.running.get(this.anyNodeName())),
    'other replica number': () => this.changes.changeReplicas(),
    'other eviction policy': () => this.changes.changePolicy(),
    flush: () => this.changes.flush(),
    'recreated bucket': () => this.changes.recreate(),
    'other server groups': () => this.changes.changeGroups(),
  };

  private random(below: number): number {
    return this.cluster.random(below);
  }

  private anyNodeName(): string {
    return pick(this.cluster.random, this.cluster.names);
  }

  private mayKill(name: string): boolean {
    const { running } = this.cluster;
    if (running.size < 2 || !running.has(name)) return false;
    return !this.isCareful || this.isMemoryElsewhere(name);
  }

  /** Whether the shard, or each shard, has a member with all of its memory on another node. */
  private isMemoryElsewhere(name: string, only?: number): boolean {
    const { current } = this.cluster;
    const hasAllMemory = (member: readonly [number, string]): boolean =>
      current.nodes[member[0]] !== name && this.cluster.isWhole(member);
    return current.shards.every(
      ({ inSync }, shard) =>
        inSync === undefined || (only !== undefined && shard !== only) || inSync.some(hasAllMemory),
    );
  }

  private restart(afterMs: number, name = this.anyNodeName()): boolean {
    if (!this.mayKill(name)) return false;
    this.cluster.kill(name);
    this.startLater(name, afterMs);
    return true;
  }

  /** A process that stops cleanly keeps its memory on its disk. */
  private stop(name: string): boolean {
    const process = this.cluster.running.get(name);
    // A process cannot leave everything on a disk that is full, or in a file that has failed.
    if (process === undefined || process.disk.isFull || process.isFileFailing) return false;
    const isQuick = this.random(2) === 0;
    void this.cluster.stop(name).then(() => this.startLater(name, isQuick ? 100 : this.random(8_000)));
    return true;
  }

  /** Stops all processes cleanly, as before an announced power cut or an upgrade of all nodes at once. */
  private stopAll(): boolean {
    const stopped = this.cluster.names.map((name) => this.stop(name));
    return stopped.includes(true);
  }

  private startLater(name: string, afterMs: number): void {
    const { clock, running } = this.cluster;
    clock.after(afterMs, () => {
      if (running.has(name)) return;
      const isCut = !this.isStopped && this.random(4) === 0;
      this.cluster.start(name, isCut);
      if (isCut) this.withoutStore([running.get(name)]);
    });
  }

  /** Cuts connections of a node to some others, and perhaps from the store. */
  private cut(name: string, bothWays: boolean): boolean {
    const { clock, links, names, running } = this.cluster;
    const others = names.filter((other) => other !== name && this.random(4) > 0);
    const isInward = this.random(2) === 0;
    for (const other of others) {
      if (bothWays || isInward) links.cut(other, name);
      if (bothWays || !isInward) links.cut(name, other);
    }
    const forMs = this.random(9_000);
    if (bothWays && this.random(2) === 0) this.withoutStore([running.get(name)], forMs);
    clock.after(forMs, () => {
      if (this.isStopped) return;
      for (const other of others) {
        links.restore(other, name);
        links.restore(name, other);
      }
    });
    return others.length > 0;
  }

  private isolate(name: string, spared: string, forMs: number): void {
    const { clock, links, names } = this.cluster;
    const others = names.filter((other) => other !== name && other !== spared);
    for (const other of others) {
      links.cut(other, name);
      links.cut(name, other);
    }
    clock.after(forMs, () => {
      for (const other of this.isStopped ? [] : others) {
        links.restore(other, name);
        links.restore(name, other);
      }
    });
  }

  private delay(): boolean {
    const { clock, links } = this.cluster;
    links.delayMaxMs = pick(this.cluster.random, [30, 200, 900]);
    clock.after(this.random(5_000), () => {
      links.delayMaxMs = 2;
    });
    return true;
  }

  private withoutStore(
    processes: readonly (Pick<Process, 'store'> | undefined)[],
    forMs = this.random(7_000),
  ): boolean {
    const stores = processes.flatMap((member) => member?.store ?? []);
    const runningStores = new Set([...this.cluster.running.values()].map(({ store }) => store));
    for (const store of stores) store.isDown = true;
    this.cluster.clock.after(forMs, () => {
      const running = [...this.cluster.running.values()].map(({ store }) => store);
      for (const store of stores)
        if (!runningStores.has(store) || running.includes(store)) store.isDown = false;
    });
    return stores.length > 0;
  }

  /** The disk of a node has no space for a while; a process that is killed and started meanwhile perhaps cannot open its files. */
  private fillDisk(): boolean {
    const { clock, running } = this.cluster;
    const disk = running.get(this.anyNodeName())?.disk;
    if (disk === undefined || disk.isFull) return false;
    disk.isFull = true;
    disk.hasNoSpaceToOpen = this.random(2) === 0;
    clock.after(this.random(9_000), () => {
      disk.isFull = disk.hasNoSpaceToOpen = false;
    });
    return true;
  }

  /** The next commit of the process fails, after which its file takes no commits until the process is started again. */
  private failFile(process: Process | undefined): boolean {
    if (process === undefined || process.isFileFailing) return false;
    process.isFileFailing = true;
    process.disk.failNextWrite('EIO');
    return true;
  }

  /**
   * Does what an operator does after the faults: restarts a process whose file has failed, once that loses no acknowledged change. Another member
   * has the changes that are not on the disk of the process, or the process is the only member, and everything acknowledged is on its disk.
   * `isStuck`: restarts it although changes may be lost.
   */
  restartFailed(isStuck: boolean): void {
    const { current, running } = this.cluster;
    for (const [name, { isFileFailing, node }] of running) {
      const majority = node.open?.progress.majority ?? 0;
      const small = current.shards.every(
        ({ inSync }, shard) => this.isMemoryElsewhere(name, shard) || (inSync?.length ?? 0) < majority,
      );
      if (!isFileFailing || !(small || isStuck)) continue;
      this.cluster.kill(name);
      this.cluster.start(name);
      return;
    }
  }

  /** Fails over a node that runs, or that was restarted or cut off just before. */
  private failOver(name: string): boolean {
    const before = this.random(4);
    if (before === 0) this.restart(500 + this.random(12_000), name);
    if (before === 1) this.cut(name, true);
    void this.orchestrators.failOver([name], this.random(4) === 0 ? 'gracefulFailover' : 'failover');
    return true;
  }

  /** Fails the active of a shard over, and then the node that was promoted, perhaps before it has confirmed that. */
  private failOverTwice(): boolean {
    const { clock, current, random, shardCount } = this.cluster;
    const shard = random(shardCount);
    const activeOf = (): string =>
      this.cluster.current.nodes[this.cluster.current.shards[shard]?.chain[0] ?? -1] ?? '';
    const first = activeOf();
    if (current.nodes.length < 3 || first === '') return false;
    void this.orchestrators.failOver([first], 'failover');
    const afterMs = random(pick(random, [400, 3_000, 15_000]));
    clock.after(afterMs, () => {
      const second = activeOf();
      if (this.isStopped || second === first || second === '') return;
      if (random(2) === 0) this.restart(random(5_000), second);
      void this.orchestrators.failOver([second], 'failover');
    });
    return true;
  }

  /** An active writes plain documents that some copies do not get, and is then failed over or restarted, so that copies differ from the next active. */
  private loseWrites(): boolean {
    const { clock, current, random, running, shardCount, vbucketCount } = this.cluster;
    const shard = random(shardCount);
    const name = current.nodes[current.shards[shard]?.chain[0] ?? -1] ?? '';
    const { node } = running.get(name) ?? {};
    if (node === undefined || !this.mayKill(name)) return false;
    // Perhaps one copy gets them.
    const spared = random(3) === 0 ? this.anyNodeName() : name;
    this.isolate(name, spared, 2_000 + random(7_000));
    const writes = 1 + random(12);
    for (let i = 0; i < writes; i++) {
      const vb = shard + shardCount * random(vbucketCount / shardCount);
      clock.after(random(300), () => {
        const key = pick(random, plainKeys);
        if (!node.open) return;
        if (random(4) === 0) node.remove(key, vb);
        else node.store(key, vb, { value: `lost ${i}` });
      });
    }
    // A process that is killed has what reached its disk.
    const isKilled = random(3) > 0;
    clock.after(isKilled ? 1_500 + random(1_500) : 300 + random(300), () => {
      if (this.isStopped) return;
      if (isKilled) this.restart(50 + random(5_000), name);
      else void this.orchestrators.failOver([name], 'failover');
    });
    return true;
  }

  /** Moves shards away from a node, or to all nodes again. */
  private rebalanceOrDrain(): boolean {
    if (this.random(3) > 0) void this.orchestrators.rebalance();
    else void this.orchestrators.failOver([this.anyNodeName()], 'gracefulFailover');
    return true;
  }

  /** Disturbs the active or its successor while a shard moves from one to the other. */
  private breakHandover(): boolean {
    const allActive = this.cluster.state.nodes.every(({ membership }) => membership === 'active');
    if (allActive) void this.orchestrators.failOver([this.anyNodeName()], 'gracefulFailover');
    else void this.orchestrators.rebalance();
    void this.breakDuringHandover(pick(this.cluster.random, ['successor', 'stopped'] as const));
    return false; // counted when the fault has happened
  }

  /** `successor`: while the active still hands the shard over; `stopped`: once it has stopped, before another one serves. */
  private async breakDuringHandover(stage: 'successor' | 'stopped'): Promise<void> {
    const { clock, running } = this.cluster;
    for (let i = 0; i < 2_000 && !this.isStopped; i++) {
      const { nodes, shards } = this.cluster.current;
      const shard = shards.find((candidate) => candidate[stage] !== undefined);
      if (shard !== undefined) {
        const involved = [shard.chain[0] ?? -1, shard.successor ?? shard.chain[1] ?? -1];
        const name = nodes[pick(this.cluster.random, involved)] ?? '';
        await clock.sleep(this.random(40));
        if (this.isStopped) return;
        const kind = this.random(3);
        const isDone =
          kind === 0
            ? this.cut(name, true)
            : kind === 1
              ? this.withoutStore([running.get(name)])
              : this.restart(this.random(3_000), name);
        if (isDone) this.counts['fault during a handover']++;
        return;
      }
      await clock.sleep(5);
    }
  }
}
