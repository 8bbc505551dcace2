// Open readers of index files, used for the next scan: opening one takes longer than most scans.
import type { IndexReader, IndexReaders } from '../store/index-store.ts';

const idleMax = 32;

interface Idle {
  readonly indexId: string;
  readonly generation: number;
  readonly reader: IndexReader;
}

export class ReaderPool {
  private readonly readers: IndexReaders;
  /** Least recently used first. */
  private idle: Idle[] = [];

  constructor(readers: IndexReaders) {
    this.readers = readers;
  }

  /** `generation` distinguishes a file from its replacement. The reader may hold an earlier snapshot: refresh it, or read a single page. */
  borrow(bucketUuid: string, indexId: string, generation: number): IndexReader {
    const index = this.idle.findLastIndex(
      (each) => each.indexId === indexId && each.generation === generation,
    );
    if (index < 0) return this.readers.open(bucketUuid, indexId);
    const [found] = this.idle.splice(index, 1);
    return (found as Idle).reader;
  }

  putBack(indexId: string, generation: number, reader: IndexReader): void {
    this.idle.push({ indexId, generation, reader });
    if (this.idle.length > idleMax) this.idle.shift()?.reader.close();
  }

  /** Releases the snapshots of readers that are not in use. */
  refresh(): void {
    for (const { reader } of this.idle) reader.refresh();
  }

  /** Closes readers of files that no index uses any more. */
  keepOnly(isUsed: (indexId: string, generation: number) => boolean): void {
    this.idle = this.idle.filter(({ indexId, generation, reader }) => {
      const used = isUsed(indexId, generation);
      if (!used) reader.close();
      return used;
    });
  }

  close(): void {
    this.keepOnly(() => false);
  }
}
