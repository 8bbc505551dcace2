// Lets services beside the data thread read documents in the memory of buckets, and tells them when they must release that memory.
import { type Clock, processMs } from '#ports/clock.ts';
import type {
  MemoryChange,
  MemoryGrant,
  MemoryReply,
  MemoryRequest,
  SharedPart,
} from '#wire/document-batch.ts';
import type { Directory } from '../served/directory.ts';
import type { BucketEngine, ServedBucket } from '../served/served-bucket.ts';

/** Tables and pages of one reply: their references take the data thread one or two microseconds each. */
const partsMax = 64;

export class MemoryGrants {
  private readonly directory: Directory;
  private readonly send: (message: MemoryReply | MemoryChange) => void;
  private readonly clockStartMs: number;
  private isChangeNoted = false;

  constructor(
    directory: Directory,
    clock: Pick<Clock, 'monotonicMs'>,
    send: (message: MemoryReply | MemoryChange) => void,
  ) {
    this.directory = directory;
    // In this order: a pause in between makes services stop reading a vbucket's memory before `servedUntilMs`, never after it.
    this.clockStartMs = processMs() - clock.monotonicMs();
    this.send = send;
  }

  answer({ bucket, collection, page, vbucket }: MemoryRequest): void {
    const served = this.directory.buckets.get(bucket);
    const engine = served?.engine;
    const isReadable = served?.spec.type !== 'cache' && served?.collections.get(collection) !== undefined;
    const grant = isReadable && engine ? this.grant(served, engine, { collection, page, vbucket }) : null;
    this.send({ kind: 'memory', bucket, collection, grant });
  }

  /** Sends no more changes to the service. */
  end(): void {
    for (const served of this.directory.buckets.values()) {
      served.revoked.delete(this.noteChange);
      served.engine?.memory.heap.pagesReleased.delete(this.noteChange);
    }
  }

  private grant(
    served: ServedBucket,
    { memory: { columns, hashSeed, heap, index } }: BucketEngine,
    { collection, page, vbucket }: Pick<MemoryRequest, 'collection' | 'page' | 'vbucket'>,
  ): MemoryGrant {
    served.revoked.add(this.noteChange);
    heap.pagesReleased.add(this.noteChange);
    const { revocations } = served;
    return {
      number: Atomics.load(revocations, 0),
      revocations,
      lock: heap.lock.share(queueMicrotask),
      hashSeed,
      states: columns.state,
      servedUntilMs: columns.servedUntilMs,
      clockStartMs: this.clockStartMs,
      tableVersions: index.versions,
      tables: groupOfParts(vbucket, columns.count, index.versions, (vb) => index.sharedTable(vb)),
      pageVersions: heap.pageVersions,
      pages: groupOfParts(page, heap.bytes.length, heap.pageVersions, (number) => heap.sharedMemory(number)),
      hits: served.collectionCounts.threadHitsOf(collection),
    };
  }

  /** Sends one message for all changes of a turn. */
  private readonly noteChange = (): void => {
    if (this.isChangeNoted) return;
    this.isChangeNoted = true;
    queueMicrotask(() => {
      this.isChangeNoted = false;
      this.send({ kind: 'memoryChanged' });
    });
  };
}

/** The group of parts that contains this number. */
function groupOfParts(
  number: number,
  end: number,
  versions: Uint32Array,
  memoryOf: (number: number) => SharedArrayBuffer | null,
): SharedPart[] {
  const from = number - (number % partsMax);
  const count = Math.max(0, Math.min(partsMax, end - from));
  return Array.from({ length: count }, (_, at) => {
    const part = from + at;
    return { number: part, version: versions[part] as number, memory: memoryOf(part) };
  });
}
