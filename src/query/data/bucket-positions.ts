// Reads consistent pairs of seqno and history (uuid) of a bucket's vbuckets. It caches all uuids, since only a flush or a crash changes
// them, and compares them with the data service after each reading of seqnos, so that no seqno is combined with the uuid of
// another history. A digest is compared first; where it differs, only the vbuckets with another uuid are read again.
import type { BucketClient } from '#client/bucket-client.ts';
import { DataPortError } from '#client/data-port-error.ts';

export interface CollectionPositions {
  /** By vbucket; 0: no changes yet. */
  readonly seqnos: Float64Array;
  /** By vbucket. */
  readonly uuids: BigUint64Array;
}

type Source = Pick<BucketClient, 'highSeqnos' | 'historyDigest' | 'uuids'>;

interface Histories {
  /** A digest that changes with any uuid. */
  readonly digest: string;
  /** By vbucket; 0n: the vbucket could not be read. */
  readonly uuids: BigUint64Array;
  readonly isComplete: boolean;
}

/** Readings during which a history changed or could not be read, after which the service gives up. */
const attemptsMax = 10;

export class BucketPositions {
  private readonly source: Source;
  private cached: Promise<Histories> | null = null;

  constructor(source: Source) {
    this.source = source;
  }

  /** @throws DataPortError when histories change or cannot be read during every reading */
  async positionsOf(collectionId: number): Promise<CollectionPositions> {
    const { source } = this;
    let found: FoundPositions | null = null;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const histories = (this.cached ??= this.read());
      try {
        const { digest, isComplete, uuids } = await histories;
        // The order matters: the data service answers requests in order.
        const [seqnos, newest] = await Promise.all([source.highSeqnos(collectionId), source.historyDigest()]);
        if (newest === digest && isComplete) return { seqnos, uuids };
        // A new reading of the histories, not one that another call began, which may be older than these seqnos.
        const later = this.read();
        this.cached = later;
        found ??= new FoundPositions(seqnos.length);
        found.add(seqnos, uuids, (await later).uuids);
        if (found.isComplete) return found;
      } catch (error) {
        this.cached = null;
        throw error;
      }
    }
    throw new DataPortError(
      'the histories of the bucket changed, or could not be read, during every reading',
    );
  }

  /**
   * Reads the digest first: the later comparison then detects uuids of a newer history. In the other order, uuids that are older than the
   * digest would pass every later comparison. Not both at once: requests to several nodes of a cluster have no order.
   */
  private async read(): Promise<Histories> {
    const digest = await this.source.historyDigest();
    const uuids = await this.source.uuids();
    return { digest, uuids, isComplete: !uuids.includes(0n) };
  }
}

/** Collects the positions of vbuckets whose history did not change while their seqnos were read, so that only the others are read again. */
class FoundPositions implements CollectionPositions {
  readonly seqnos: Float64Array;
  readonly uuids: BigUint64Array;
  private readonly isFound: Uint8Array;

  constructor(count: number) {
    this.seqnos = new Float64Array(count);
    this.uuids = new BigUint64Array(count);
    this.isFound = new Uint8Array(count);
  }

  get isComplete(): boolean {
    return !this.isFound.includes(0);
  }

  /** `seqnos` were read between two readings of the uuids: adds those of vbuckets whose uuid is the same in both readings. */
  add(seqnos: Float64Array, before: BigUint64Array, after: BigUint64Array): void {
    for (const [vb, seqno] of seqnos.entries()) {
      if (before[vb] !== after[vb] || before[vb] === 0n) continue;
      this.seqnos[vb] = seqno;
      this.uuids[vb] = before[vb] as bigint;
      this.isFound[vb] = 1;
    }
  }
}
