// All replications of this node: starts, changes and stops them to reach the desired state.
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { ReplicationReport, WantedReplication } from '../xdcr.contract.ts';
import { PriorityShares } from './priority-shares.ts';
import { type ReplicationDeps, RunningReplication } from './replication.ts';
import { ownVbuckets, sendingNodes } from './source-share.ts';

/** The interval of reports without replications, and the longest one with them. */
const reportIntervalMs = { without: 1_000, most: 10_000 } as const;

export type XdcrServiceDeps = Omit<ReplicationDeps, 'vbuckets' | 'sendingNodes' | 'shares'>;

interface Running {
  readonly replication: RunningReplication;
  /** The definition and vbuckets with which the replication runs, as JSON text: a difference means that it must change. */
  applied: string;
}

export class XdcrService {
  private readonly deps: XdcrServiceDeps;
  private readonly shares = new PriorityShares();
  private readonly byId = new Map<string, Running>();
  private wanted: readonly WantedReplication[] = [];
  private layout: ClusterLayout | null = null;
  private work: Promise<void> = Promise.resolve();

  constructor(deps: XdcrServiceDeps) {
    this.deps = deps;
  }

  /** Resolves when the replications have been started, changed and stopped. */
  async apply(wanted: readonly WantedReplication[]): Promise<void> {
    this.wanted = wanted;
    this.scheduleApply();
    await this.work;
  }

  /** `layout`: null where this node has all vbuckets. */
  followCluster(layout: ClusterLayout | null): void {
    this.layout = layout;
    this.scheduleApply();
  }

  /** The shortest interval of reports that a replication asks for. */
  get reportMs(): number {
    if (this.wanted.length === 0) return reportIntervalMs.without;
    return Math.min(reportIntervalMs.most, ...this.wanted.map(({ settings }) => settings.statsInterval));
  }

  async report(): Promise<ReplicationReport[]> {
    return await Promise.all([...this.byId.values()].map(({ replication }) => replication.report()));
  }

  async stop(): Promise<void> {
    this.wanted = [];
    this.scheduleApply();
    await this.work;
  }

  /** Applies the newest wanted state after the earlier calls have ended. */
  private scheduleApply(): void {
    this.work = this.work.then(() => this.applyNewest());
  }

  private async applyNewest(): Promise<void> {
    const wanted = new Map(this.wanted.map((replication) => [replication.id, replication]));
    const ending = [...this.byId].filter(([id, { replication }]) => {
      const next = wanted.get(id);
      return next === undefined || next.source.uuid !== replication.wanted.source.uuid;
    });
    await Promise.all(
      ending.map(async ([id, { replication }]) => {
        this.byId.delete(id);
        await replication.end();
      }),
    );
    await Promise.all([...wanted.values()].map((replication) => this.startOrChange(replication)));
  }

  private async startOrChange(wanted: WantedReplication): Promise<void> {
    const { bucket } = wanted.source;
    const share = { vbuckets: ownVbuckets(this.layout, bucket), nodes: sendingNodes(this.layout, bucket) };
    const applied = JSON.stringify([wanted, share]);
    const existing = this.byId.get(wanted.id);
    if (existing?.applied === applied) return;
    if (existing !== undefined) {
      existing.applied = applied;
      await existing.replication.change(wanted);
      return;
    }
    const replication = new RunningReplication(wanted, {
      ...this.deps,
      vbuckets: () => ownVbuckets(this.layout, bucket),
      sendingNodes: () => sendingNodes(this.layout, bucket),
      shares: this.shares,
    });
    this.byId.set(wanted.id, { replication, applied });
    replication.start();
  }
}
