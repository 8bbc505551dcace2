// Writes epochs to disk before this process confirms them in the map. A shard whose epoch the disk does not take is passed on to another
// member of its in-sync set, which has all that was acknowledged.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ShardChange, ShardSpec, SyncMember } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { type ContinuedBoots, firstComplete } from './continued-boots.ts';

/** How long a confirmation waits for reports of what the other members have: after a start they have reported by then. */
const unknownMaxMs = 1_000;

export interface EpochWritesOptions {
  readonly uuid: string;
  readonly self: SyncMember;
  readonly bucket: Pick<Bucket, 'writeStates'>;
  readonly boots: Pick<ContinuedBoots, 'stateOf'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
  readonly vbsOf: (shard: number) => readonly number[];
}

export const isConfirmation = ({ kind }: ShardChange): boolean => kind === 'confirm';

export class EpochWrites {
  private readonly options: EpochWritesOptions;
  /**
   * Shards that this process passed on, and of which its disk has taken no epoch since. If it is named for one of them again, it serves the
   * shard.
   */
  private readonly passed = new Set<number>();
  /** The changes that pass shards on, which the last `write` returned in place of confirmations. */
  private passingChanges: readonly ShardChange[] = [];
  /** Since when the disk takes no epochs; null: it takes them. */
  private failingSinceMs: number | null = null;

  constructor(options: EpochWritesOptions) {
    this.options = options;
  }

  /**
   * Writes the epochs of the confirmations. Returns the changes to request: a confirmation whose epoch is not on disk is replaced by a change that
   * passes its shard on, where another member can serve it, and is left out while it is not known whether one can.
   */
  async write(changes: readonly ShardChange[], specs: readonly ShardSpec[]): Promise<readonly ShardChange[]> {
    const { bucket, clock, vbsOf } = this.options;
    const shards = changes.filter(isConfirmation).map(({ shard }) => shard);
    const written = new Set(await bucket.writeStates(shards.flatMap((shard) => vbsOf(shard))));
    const missing = shards.filter((shard) => !vbsOf(shard).every((vb) => written.has(vb)));
    for (const shard of shards) if (!missing.includes(shard)) this.passed.delete(shard);
    this.failingSinceMs = missing.length === 0 ? null : (this.failingSinceMs ?? clock.monotonicMs());
    if (missing.length === 0) return changes;
    this.passingChanges = missing.flatMap((shard) => this.passedOn(shard, specs[shard]) ?? []);
    const unknown = missing.filter((shard) => this.isUnknown(shard, specs[shard]));
    this.report(missing.filter((shard) => !unknown.includes(shard)));
    return changes
      .filter(({ shard }) => !unknown.includes(shard))
      .map((change) => this.passingChangeOf(change.shard) ?? change);
  }

  /** The disk has taken the epochs of these shards. */
  taken(shards: readonly number[]): void {
    for (const shard of shards) this.passed.delete(shard);
    if (shards.length > 0) this.failingSinceMs = null;
  }

  /** The map has the changes that `write` returned. */
  made(changes: readonly ShardChange[]): void {
    for (const change of this.passingChanges) if (changes.includes(change)) this.passed.add(change.shard);
  }

  private passingChangeOf(shard: number): ShardChange | undefined {
    return this.passingChanges.find((change) => change.shard === shard);
  }

  /**
   * Passes the shard on to the next member in the order of the in-sync set, so that each member gets it once if all disks are full. Undefined: no
   * other member is known to have all that was acknowledged, or this process has passed the shard on before.
   */
  private passedOn(shard: number, spec: ShardSpec | undefined): ShardChange | undefined {
    if (spec === undefined || this.passed.has(shard)) return undefined;
    const successor = firstComplete(this.others(spec), this.options.boots)?.node;
    return successor === undefined ? undefined : { shard, epoch: spec.epoch, kind: 'stop', successor };
  }

  private isUnknown(shard: number, spec: ShardSpec | undefined): boolean {
    const { boots, clock } = this.options;
    if (clock.monotonicMs() - (this.failingSinceMs ?? -Infinity) >= unknownMaxMs) return false;
    if (spec === undefined || this.passed.has(shard) || this.passingChangeOf(shard)) return false;
    return this.others(spec).some((member) => boots.stateOf(member) === 'unknown');
  }

  /** The other members, beginning with the next one after this node. */
  private others({ inSync = [] }: ShardSpec): SyncMember[] {
    const own = inSync.findIndex(({ node }) => node === this.options.self.node);
    return [...inSync.slice(own + 1), ...inSync.slice(0, Math.max(own, 0))];
  }

  private report(missing: readonly number[]): void {
    if (missing.length === 0) return;
    const { log, uuid } = this.options;
    const inMemory = missing.filter((shard) => !this.passingChangeOf(shard));
    const passedOn = this.passingChanges.map(({ shard }) => shard);
    log.warn('replication.epochs_not_written', { bucket: uuid, passedOn, inMemory });
  }
}
