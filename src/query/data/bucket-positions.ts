// Seqnos and histories (uuids) of a bucket's vbuckets that belong together. All uuids are kept, since they change with a flush or a crash
// only, and compared with the data service after each reading of seqnos: whatever the timing, no seqno is combined with the uuid of
// another history.
import type { BucketClient } from '#client/bucket-client.ts';
import { DataPortError } from '#client/data-port-error.ts';

export interface CollectionPositions {
  /** By vbucket; 0: nothing yet. */
  readonly seqnos: Float64Array;
  /** By vbucket; 0n: the vbucket cannot be read. */
  readonly uuids: BigUint64Array;
}

type Source = Pick<BucketClient, 'highSeqnos' | 'histories' | 'uuids'>;

interface Histories {
  /** As the data service compares them. */
  readonly digest: string;
  readonly uuids: BigUint64Array;
}

/** A bucket that gets another history during each of so many readings is not readable. */
const attemptsMax = 10;

export class BucketPositions {
  private readonly source: Source;
  private known: Promise<Histories> | null = null;

  constructor(source: Source) {
    this.source = source;
  }

  /** @throws DataPortError when histories change all the time */
  async of(collectionId: number): Promise<CollectionPositions> {
    const { source } = this;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const known = (this.known ??= this.read());
      try {
        const { digest, uuids } = await known;
        // In this order: replies are computed in the order of the requests.
        const [seqnos, newest] = await Promise.all([source.highSeqnos(collectionId), source.histories()]);
        if (newest === digest) return { seqnos, uuids };
      } catch (error) {
        this.forget(known);
        throw error;
      }
      this.forget(known);
    }
    throw new DataPortError('the histories of the bucket change all the time');
  }

  private forget(known: Promise<Histories>): void {
    if (this.known === known) this.known = null;
  }

  /** The digest is asked for first: uuids of a later history are found by the comparison that follows. */
  private async read(): Promise<Histories> {
    const [digest, uuids] = await Promise.all([this.source.histories(), this.source.uuids()]);
    return { digest, uuids };
  }
}
