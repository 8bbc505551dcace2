// The states of a bucket's shards: which vbuckets this node serves, and in which state. Shards change one after the other; one that becomes
// active is served once its new history is on disk.
import type { Random } from '#ports/random.ts';
import type { ShardSpec } from '../admin.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';
import { addFailoverEntry } from './warm-up.ts';

export interface ShardHooks {
  /** These vbuckets became active and have a new uuid. */
  activated(rows: readonly number[]): void;
  /** Resolves when the states of these vbuckets are on disk. */
  written(rows: readonly number[]): Promise<void>;
  /** This vbucket is not active any longer. */
  deposed(row: number): void;
  /** Called after every change of a vbucket's state. */
  changed(row: number): void;
  /** Until when a vbucket that became active is served: 0 while its copies must first receive all its changes. */
  servedUntilMs(row: number): number;
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
    for (let row = 0; shards.length > 0 && row < vbuckets.rows.count; row++)
      this.put(row, shards[row % shards.length] as ShardSpec);
  }

  /** Those of the vbuckets that are active. */
  active(rows: readonly number[]): number[] {
    return rows.filter((row) => this.isActive(row));
  }

  /** Serves these vbuckets, each in its state. */
  open(rows: readonly number[]): void {
    this.loaded = new Set(rows);
    const { servedUntilMs, vbuckets } = this.options;
    for (const row of rows)
      vbuckets.rows.servedUntilMs[row] = this.isActive(row) ? servedUntilMs(row) : Infinity;
  }

  /** Sets until when active vbuckets are served whose documents are loaded. */
  serve(rows: readonly number[], untilMs: number): void {
    for (const row of rows)
      if (this.loaded?.has(row) && this.isActive(row))
        this.options.vbuckets.rows.servedUntilMs[row] = untilMs;
  }

  close(): void {
    this.loaded = null;
    this.options.vbuckets.rows.servedUntilMs.fill(0);
  }

  /** Brings every shard to its desired state; resolves with whether a state changed. */
  async follow(shards: readonly ShardSpec[]): Promise<boolean> {
    let isChanged = false;
    for (const [shard, spec] of shards.entries()) {
      this.mark(shard, shards.length, spec);
      const rows = this.differing(shard, shards.length, spec);
      if (rows.length === 0) continue;
      isChanged = true;
      await this.change(rows, spec);
    }
    return isChanged;
  }

  private mark(shard: number, shardCount: number, { isOutOfSync = false }: ShardSpec): void {
    const { rows } = this.options.vbuckets;
    for (let row = shard; row < rows.count; row += shardCount) rows.outOfSync[row] = isOutOfSync ? 1 : 0;
  }

  private differing(shard: number, shardCount: number, { state, epoch }: ShardSpec): number[] {
    const { rows } = this.options.vbuckets;
    const found: number[] = [];
    for (let row = shard; row < rows.count; row += shardCount)
      if (rows.state[row] !== VbucketState[state] || rows.epoch[row] !== epoch) found.push(row);
    return found;
  }

  private async change(differing: readonly number[], spec: ShardSpec): Promise<void> {
    const { rows } = this.options.vbuckets;
    const promoted = spec.state === 'active' ? differing.filter((row) => !this.isActive(row)) : [];
    if (this.loaded !== null) for (const row of promoted) rows.servedUntilMs[row] = 0;
    for (const row of differing) this.put(row, spec);
    if (this.loaded !== null && promoted.length > 0) await this.activate(promoted);
  }

  private async activate(promoted: readonly number[]): Promise<void> {
    const { activated, random, servedUntilMs, vbuckets, written } = this.options;
    const loadedRows = promoted.filter((row) => this.loaded?.has(row));
    for (const row of loadedRows) addFailoverEntry(vbuckets, row, random);
    activated(loadedRows);
    await written(loadedRows);
    for (const row of loadedRows)
      if (this.loaded?.has(row)) vbuckets.rows.servedUntilMs[row] = servedUntilMs(row);
  }

  private isActive(row: number): boolean {
    return this.options.vbuckets.rows.state[row] === VbucketState.active;
  }

  private put(row: number, { state, epoch }: ShardSpec): void {
    const { rows } = this.options.vbuckets;
    const before = rows.state[row];
    rows.state[row] = VbucketState[state];
    rows.epoch[row] = epoch;
    if (before === rows.state[row]) return;
    if (before === VbucketState.active) {
      // It may have ended serving before it ceased to be the active.
      if (this.loaded?.has(row)) rows.servedUntilMs[row] = Infinity;
      this.options.deposed(row);
    }
    this.options.changed(row);
  }
}
