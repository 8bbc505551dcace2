// Prepares shards that this process may confirm as their active: their epochs, and the histories that begin with these epochs, are on disk before
// the map names the process. Other changes of the map do not wait for that.
import type { ShardChange, ShardSpec } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { isConfirmation } from './epoch-writes.ts';

interface ShardPreparationOptions {
  bucket: Bucket;
  vbsOf: (shard: number) => readonly number[];
  /** Called before the epoch of a shard is written. */
  begin: (confirm: ShardChange) => void;
  /** Called when the writes for these shards have ended; `onDisk`: the shards whose epochs the disk has taken. */
  prepared: (shards: readonly number[], onDisk: readonly number[]) => void;
}

interface Begun {
  readonly epoch: number;
  /** Null while it is being written; false: the disk did not take it. */
  isOnDisk: boolean | null;
}

export class ShardPreparation {
  private readonly options: ShardPreparationOptions;
  private readonly begun = new Map<number, Begun>();

  constructor(options: ShardPreparationOptions) {
    this.options = options;
  }

  /** The changes without the confirmations of shards that are not prepared yet; begins to prepare those. */
  prepared(changes: readonly ShardChange[], specs: readonly ShardSpec[]): readonly ShardChange[] {
    const confirms = changes.filter(isConfirmation);
    const unprepared = confirms.filter((confirm) => this.begunFor(confirm) === null);
    if (unprepared.length > 0) void this.prepare(unprepared, specs);
    return changes
      .filter((change) => !isConfirmation(change) || this.begunFor(change)?.isOnDisk != null)
      .map((change) => (this.isUnwritten(change) ? { ...change, isUnwritten: true } : change));
  }

  /** Whether the change confirms a shard of which the disk of this node lacks changes. No earlier active makes others: this process refuses them. */
  private isUnwritten(change: ShardChange): change is ShardChange & { kind: 'confirm' } {
    const { bucket, vbsOf } = this.options;
    const { highSeqno, persistedSeqno } = bucket.columns;
    const isMissing = (vb: number): boolean => (persistedSeqno[vb] as number) < (highSeqno[vb] as number);
    return bucket.isOnDisk && isConfirmation(change) && vbsOf(change.shard).some(isMissing);
  }

  /** Whether the disk has taken the epochs of all confirmations among these changes. */
  areOnDisk(changes: readonly ShardChange[]): boolean {
    return changes.every((change) => !isConfirmation(change) || this.begunFor(change)?.isOnDisk);
  }

  private begunFor({ epoch, shard }: ShardChange): Begun | null {
    const found = this.begun.get(shard);
    return found?.epoch === epoch ? found : null;
  }

  /**
   * Writes all documents too where the new active must have them on disk before the earlier one may leave the in-sync set, and after a handover:
   * the nodes that leave may be those whose disks have what was acknowledged as persisted.
   */
  private async prepare(confirms: readonly ShardChange[], specs: readonly ShardSpec[]): Promise<void> {
    const { begin, bucket, prepared, vbsOf } = this.options;
    const begun = confirms.map((confirm) => {
      begin(confirm);
      const entry: Begun = { epoch: confirm.epoch, isOnDisk: null };
      this.begun.set(confirm.shard, entry);
      return { shard: confirm.shard, entry };
    });
    const shards = confirms.map(({ shard }) => shard);
    // The node that leaves an in-sync set of two may have the only disk with the documents.
    const isSetLarge = (shard: number): boolean =>
      !specs[shard]?.isHandedOver &&
      (specs[shard]?.inSync?.length ?? 1) > Math.max(bucket.progress.majority, 2);
    const written = await Promise.all([
      bucket.shards.prepare(shards.filter(isSetLarge).flatMap(vbsOf), false),
      bucket.shards.prepare(shards.filter((shard) => !isSetLarge(shard)).flatMap(vbsOf), true),
    ]);
    const onDisk = new Set(written.flat());
    for (const { entry, shard } of begun) entry.isOnDisk = vbsOf(shard).every((vb) => onDisk.has(vb));
    prepared(
      shards,
      shards.filter((shard) => this.begun.get(shard)?.isOnDisk),
    );
  }
}
