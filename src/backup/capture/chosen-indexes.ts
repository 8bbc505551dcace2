// The indexes of the buckets that a backup can have in its manifest: others are left out before the first document is read, since a manifest
// that no reader accepts would fail the backup at its end.
import { type IndexRecord, indexesMax, isIndexRecord } from '../format/manifest.ts';

/** Bytes of all definitions in one backup, as JSON: a manifest has at most 256 MiB, of which vbuckets of 1,000 buckets take about 150. */
const definitionBytesMax = 64 << 20;
const shownMax = 100;

export class ChosenIndexes {
  /** For the user, with the names of the indexes. */
  readonly notes: string[] = [];
  private bytes = 0;

  of(bucket: string, indexes: readonly IndexRecord[]): IndexRecord[] {
    const chosen: IndexRecord[] = [];
    for (const index of indexes) {
      const reason =
        chosen.length >= indexesMax
          ? `a backup contains at most ${indexesMax} indexes of a bucket`
          : this.problem(index);
      if (reason === null) chosen.push(index);
      else this.notes.push(`index "${shown(index)}" of bucket "${bucket}" is left out: ${reason}`);
    }
    return chosen;
  }

  private problem(index: IndexRecord): string | null {
    if (!isIndexRecord(index)) return 'its definition is longer than a statement can be, or malformed';
    const bytes = Buffer.byteLength(JSON.stringify(index));
    if (this.bytes + bytes > definitionBytesMax)
      return `with it, the definitions of all indexes in this backup would have more than ${definitionBytesMax >> 20} MiB together`;
    this.bytes += bytes;
    return null;
  }
}

const shown = ({ name }: IndexRecord): string => String(name).slice(0, shownMax);
