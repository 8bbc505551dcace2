// The states of a bucket's shards: which vbuckets this node serves, and in which state. Shards that become active are served once their new
// history is on disk; those of one map share its commits.
import type { Random } from '#ports/random.ts';
import type { ShardSpec } from '../admin.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';
import { addFailoverEntry } from './warm-up.ts';

export interface ShardHooks {
  /** These vbuckets became active and have a new uuid. */
  activated(vbs: readonly number[]): void;
  /** Resolves when the states of these vbuckets are on disk, or the disk does not take them now. */
  written(vbs: readonly number[]): Promise<unknown>;
  /** This vbucket is not active any longer. */
  deposed(vb: number): void;
  /** Called after every change of a vbucket's state. */
  changed(vb: number): void;
  /** Until when a vbucket that became active is served: 0 while its copies must first receive all its changes. */
  servedUntilMs(vb: number): number;
}

export interface ShardStatesOptions extends ShardHooks {
  vbuckets: Vbuckets;
  random: Random;
  /** At start; without them every vbucket is active. */
  shards?: readonly ShardSpec[] | undefined;
}

export class ShardStates {
  private readonly options: ShardStatesOptions;
  /** Vbuckets whose documents are loaded; null while none is served. */
  private loaded: ReadonlySet<number> | null = null;

  constructor(options: ShardStatesOptions) {
    this.options = options;
    const { shards = [], vbuckets } = options;
    for (let vb = 0; shards.length > 0 && vb < vbuckets.columns.count; vb++)
      this.put(vb, shards[vb % shards.length] as ShardSpec);
  }

  /** The given vbuckets that are active. */
  active(vbs: readonly number[]): number[] {
    return vbs.filter((vb) => this.isActive(vb));
  }

  /** Serves these vbuckets, each in its state. */
  open(vbs: readonly number[]): void {
    this.loaded = new Set(vbs);
    const { servedUntilMs, vbuckets } = this.options;
    for (const vb of vbs)
      vbuckets.columns.servedUntilMs[vb] = this.isActive(vb) ? servedUntilMs(vb) : Infinity;
  }

  /** Sets until when active vbuckets are served whose documents are loaded. */
  serve(vbs: readonly number[], untilMs: number): void {
    for (const vb of vbs)
      if (this.loaded?.has(vb) && this.isActive(vb))
        this.options.vbuckets.columns.servedUntilMs[vb] = untilMs;
  }

  close(): void {
    this.loaded = null;
    this.options.vbuckets.columns.servedUntilMs.fill(0);
  }

  /** Brings every shard to its desired state; resolves with whether a state changed. */
  async follow(shards: readonly ShardSpec[]): Promise<boolean> {
    let isChanged = false;
    const promoted: number[] = [];
    for (const [shard, spec] of shards.entries()) {
      this.mark(shard, shards.length, spec);
      const vbs = this.differing(shard, shards.length, spec);
      if (vbs.length > 0) isChanged = true;
      promoted.push(...this.change(vbs, spec));
    }
    if (this.loaded !== null && promoted.length > 0) await this.activate(promoted);
    return isChanged;
  }

  private mark(shard: number, shardCount: number, { isOutOfSync = false }: ShardSpec): void {
    const { columns } = this.options.vbuckets;
    for (let vb = shard; vb < columns.count; vb += shardCount) columns.outOfSync[vb] = isOutOfSync ? 1 : 0;
  }

  private differing(shard: number, shardCount: number, { state, epoch }: ShardSpec): number[] {
    const { columns } = this.options.vbuckets;
    const found: number[] = [];
    for (let vb = shard; vb < columns.count; vb += shardCount)
      if (columns.state[vb] !== VbucketState[state] || columns.epoch[vb] !== epoch) found.push(vb);
    return found;
  }

  /** Returns the vbuckets that become active. */
  private change(differing: readonly number[], spec: ShardSpec): readonly number[] {
    const { columns } = this.options.vbuckets;
    const promoted = spec.state === 'active' ? differing.filter((vb) => !this.isActive(vb)) : [];
    if (this.loaded !== null) for (const vb of promoted) columns.servedUntilMs[vb] = 0;
    for (const vb of differing) this.put(vb, spec);
    return promoted;
  }

  private async activate(promoted: readonly number[]): Promise<void> {
    const { activated, random, servedUntilMs, vbuckets, written } = this.options;
    const loaded = promoted.filter((vb) => this.loaded?.has(vb));
    for (const vb of loaded) addFailoverEntry(vbuckets, vb, random);
    activated(loaded);
    await written(loaded);
    for (const vb of loaded) if (this.loaded?.has(vb)) vbuckets.columns.servedUntilMs[vb] = servedUntilMs(vb);
  }

  private isActive(vb: number): boolean {
    return this.options.vbuckets.columns.state[vb] === VbucketState.active;
  }

  private put(vb: number, { state, epoch }: ShardSpec): void {
    const { columns } = this.options.vbuckets;
    const before = columns.state[vb];
    columns.state[vb] = VbucketState[state];
    columns.epoch[vb] = epoch;
    if (before === columns.state[vb]) return;
    if (before === VbucketState.active) {
      // It may have ended serving before it ceased to be the active.
      if (this.loaded?.has(vb)) columns.servedUntilMs[vb] = Infinity;
      this.options.deposed(vb);
    }
    this.options.changed(vb);
  }
}
