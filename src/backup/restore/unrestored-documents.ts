// Counts what a restore does not write, since the target lacks its collection and cannot create it.
import { type Frame, FrameKind } from '../format/frame.ts';
import type { BucketRecord } from '../format/manifest.ts';
import { type MappedName, pathOf } from './name-map.ts';

export class UnrestoredDocuments {
  total = 0;
  private readonly record: BucketRecord;
  private readonly missing: ReadonlyMap<number, MappedName>;
  private readonly counts = new Map<number, number>();

  constructor(record: BucketRecord, missing: ReadonlyMap<number, MappedName>) {
    this.record = record;
    this.missing = missing;
  }

  /** Documents of collections that were dropped before the end of the backup are not counted, nor deletions. */
  count({ collectionId, kind }: Frame): void {
    if (kind !== FrameKind.mutation || !this.missing.has(collectionId)) return;
    this.counts.set(collectionId, (this.counts.get(collectionId) ?? 0) + 1);
    this.total++;
  }

  /** One sentence for each collection. */
  notes(): string[] {
    return [...this.counts].map(([id, count]) => {
      const source = this.record.collections.find((collection) => collection.id === id);
      const from = `${this.record.name}.${source?.scope}.${source?.name}`;
      return (
        `${from}: ${count} documents were left out: collection ${pathOf(this.missing.get(id) as MappedName)} was dropped ` +
        `and cannot be created again; --map ${from}=bucket.scope.collection writes them elsewhere`
      );
    });
  }
}
