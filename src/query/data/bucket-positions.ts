// Reads consistent pairs of seqno and history (uuid) of a bucket's vbuckets. It caches all uuids, since only a flush or a crash changes
// them, and compares them with the data service after each reading of seqnos, so that no seqno is combined with the uuid of
// another history.
import type { BucketClient } from '#client/bucket-client.ts';
import { DataPortError } from '#client/data-port-error.ts';

export interface CollectionPositions {
  /** By vbucket; 0: no changes yet. */
  readonly seqnos: Float64Array;
  /** By vbucket; 0n: the vbucket cannot be read. */
  readonly uuids: BigUint64Array;
}

type Source = Pick<BucketClient, 'highSeqnos' | 'histories' | 'uuids'>;

interface Histories {
  /** A digest that changes with any uuid. */
  readonly digest: string;
  readonly uuids: BigUint64Array;
}

/** Readings during which a history changed, after which the service gives up. */
const attemptsMax = 10;

export class BucketPositions {
  private readonly source: Source;
  private cached: Promise<Histories> | null = null;

  constructor(source: Source) {
    this.source = source;
  }

  /** @throws DataPortError when histories change during every reading */
  async positionsOf(collectionId: number): Promise<CollectionPositions> {
    const { source } = this;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const histories = (this.cached ??= this.read());
      try {
        const { digest, uuids } = await histories;
        // The order matters: the data service answers requests in order.
        const [seqnos, newest] = await Promise.all([source.highSeqnos(collectionId), source.histories()]);
        if (newest === digest) return { seqnos, uuids };
      } catch (error) {
        this.discard(histories);
        throw error;
      }
      this.discard(histories);
    }
    throw new DataPortError('the histories of the bucket changed during every reading');
  }

  private discard(histories: Promise<Histories>): void {
    if (this.cached === histories) this.cached = null;
  }

  /**
   * Reads the digest first: the later comparison then detects uuids of a newer history. In the other order, uuids that are older than the
   * digest would pass every later comparison. Not both at once: requests to several nodes of a cluster have no order.
   */
  private async read(): Promise<Histories> {
    const digest = await this.source.histories();
    return { digest, uuids: await this.source.uuids() };
  }
}
