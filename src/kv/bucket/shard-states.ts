// The states of a bucket's shards: which vbuckets this node serves, and in which state. A shard that becomes active is served once its new
// history is on disk. Where the history was prepared it is on disk before; otherwise all shards that one map makes active share the commits.
import type { Random } from '#ports/random.ts';
import type { ShardSpec } from '../admin.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';
import { endSnapshot, wholeSeqno } from '../vbucket/whole-seqno.ts';
import { addFailoverEntry } from './warm-up.ts';

const noEntries = new Uint8Array();

export interface ShardHooks {
  /** Called when vbuckets became active and have a new uuid. */
  activated(vbs: readonly number[]): void;
  /**
   * Writes the states of these vbuckets and, `withChanges`, their changes too. Resolves with those that are on disk; the disk does not accept the
   * others now.
   */
  writeStates(vbs: readonly number[], withChanges: boolean): Promise<readonly number[]>;
  /** Called when a vbucket is not active any longer. */
  deposed(vb: number): void;
  /** Called after every change of a vbucket's state. */
  changed(vb: number): void;
  /** Until when a vbucket that became active is served: 0 while its copies must first receive all its changes. */
  servedUntilMs(vb: number): number;
}

interface PreparedHistory {
  /** The failover log and the high seqno before it. */
  readonly before: Uint8Array;
  readonly highSeqno: number;
  readonly uuidHi: number;
  readonly uuidLo: number;
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
  /** Histories that have begun before their vbuckets are active, by vbucket. */
  private readonly prepared = new Map<number, PreparedHistory>();

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
    const { servedUntilMs } = this.options.vbuckets.columns;
    // At each check of the shards most are served as before.
    for (const vb of vbs)
      if (servedUntilMs[vb] !== untilMs && this.loaded?.has(vb) && this.isActive(vb))
        servedUntilMs[vb] = untilMs;
  }

  close(): void {
    this.loaded = null;
    this.options.vbuckets.columns.servedUntilMs.fill(0);
  }

  /**
   * Begins the next histories of these vbuckets, except of active ones, before they become active. Resolves with the vbuckets whose
   * histories and epochs are on disk and, `withChanges`, all of their changes too.
   */
  prepare(vbs: readonly number[], withChanges: boolean): Promise<readonly number[]> {
    for (const vb of vbs) this.beginHistory(vb);
    return this.options.writeStates(vbs, withChanges);
  }

  private beginHistory(vb: number): void {
    const { random, vbuckets } = this.options;
    const { columns, failovers } = vbuckets;
    if (!this.loaded?.has(vb) || this.isActive(vb) || this.isPrepared(vb)) return;
    const before = failovers.encode(vb);
    addFailoverEntry(vbuckets, vb, random);
    const [uuidHi, uuidLo] = [failovers.uuidHi(vb), failovers.uuidLo(vb)];
    this.prepared.set(vb, { before, highSeqno: columns.highSeqno[vb] as number, uuidHi, uuidLo });
  }

  /** Ends histories that were only prepared: another node has become active. */
  revert(vbs: readonly number[]): void {
    const { failovers } = this.options.vbuckets;
    for (const vb of vbs) {
      if (this.isPrepared(vb)) failovers.decode(vb, this.prepared.get(vb)?.before ?? noEntries);
      this.prepared.delete(vb);
    }
  }

  /** False also where the vbucket has changed or was emptied since. */
  private isPrepared(vb: number): boolean {
    const { columns, failovers } = this.options.vbuckets;
    const prepared = this.prepared.get(vb);
    if (prepared === undefined) return false;
    const [newest] = failovers.entries(vb);
    const isNewest = newest?.uuidHi === prepared.uuidHi && newest.uuidLo === prepared.uuidLo;
    const isSame = columns.highSeqno[vb] === prepared.highSeqno;
    return isNewest && isSame && newest.seqno === wholeSeqno(columns, vb);
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
    for (let vb = shard; vb < columns.count; vb += shardCount) columns.isOutOfSync[vb] = isOutOfSync ? 1 : 0;
  }

  /** The vbuckets of the shard whose state or epoch is not the desired one. */
  private differing(shard: number, shardCount: number, { state, epoch }: ShardSpec): number[] {
    const { columns } = this.options.vbuckets;
    const found: number[] = [];
    for (let vb = shard; vb < columns.count; vb += shardCount)
      if (columns.state[vb] !== VbucketState[state] || columns.epoch[vb] !== epoch) found.push(vb);
    return found;
  }

  /** Returns the vbuckets that become active. */
  private change(differing: readonly number[], spec: ShardSpec): readonly number[] {
    const { columns, heap } = this.options.vbuckets;
    // Otherwise a thread that reads meanwhile could combine the earlier state with the later time.
    if (differing.length > 0) heap.lock.hold();
    const promoted = spec.state === 'active' ? differing.filter((vb) => !this.isActive(vb)) : [];
    if (this.loaded !== null) for (const vb of promoted) columns.servedUntilMs[vb] = 0;
    for (const vb of differing) this.put(vb, spec);
    return promoted;
  }

  private async activate(promoted: readonly number[]): Promise<void> {
    const { activated, random, servedUntilMs, vbuckets, writeStates } = this.options;
    const loaded = promoted.filter((vb) => this.loaded?.has(vb));
    const unprepared = loaded.filter((vb) => !this.isPrepared(vb));
    for (const vb of loaded) this.prepared.delete(vb);
    for (const vb of unprepared) addFailoverEntry(vbuckets, vb, random);
    const { columns } = vbuckets;
    const cutOff = loaded.filter((vb) => (columns.snapEnd[vb] as number) > (columns.highSeqno[vb] as number));
    for (const vb of cutOff) endSnapshot(columns, vb);
    activated(loaded);
    if (unprepared.length > 0) await writeStates(unprepared, true);
    for (const vb of loaded) if (this.loaded?.has(vb)) columns.servedUntilMs[vb] = servedUntilMs(vb);
    // The files still have these vbuckets as copies that lack the end of a snapshot, as when their histories were prepared: after a crash the
    // next process would begin other histories from the start of that snapshot, and copies would roll back to it.
    if (cutOff.length > 0) await writeStates(cutOff, false);
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
      // The vbucket may have ended serving before it ceased to be the active.
      if (this.loaded?.has(vb)) columns.servedUntilMs[vb] = Infinity;
      this.options.deposed(vb);
    }
    this.options.changed(vb);
  }
}
