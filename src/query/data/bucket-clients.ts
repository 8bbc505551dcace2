// Connections to the data service, one for each bucket that statements use, opened when needed and again after a loss.
import { BucketClient } from '#client/bucket-client.ts';
import type { WireAccount, WireAddress } from '#client/wire-connection.adapter.ts';
import { BucketPositions, type CollectionPositions } from './bucket-positions.ts';

export interface DataAccess {
  readonly address: WireAddress;
  readonly account: WireAccount;
}

const bucketsMax = 256;

export class BucketClients {
  private readonly clients = new Map<string, Promise<BucketClient>>();
  private readonly positions = new WeakMap<BucketClient, BucketPositions>();
  private access: DataAccess | null = null;

  /** Where the data service is; connections from before are closed. */
  use(access: DataAccess): void {
    this.closeAll();
    this.access = access;
  }

  /**
   * @throws StatusError when the bucket cannot be entered
   * @throws DataPortError without a connection
   */
  async of(bucket: string): Promise<BucketClient> {
    const open = await this.clients.get(bucket);
    if (open !== undefined && !open.isClosed) return open;
    return await this.open(bucket);
  }

  /** What a collection has now: the newest seqno of each vbucket, and the history that it belongs to. */
  async positionsOf(bucket: string, collectionId: number): Promise<CollectionPositions> {
    const client = await this.of(bucket);
    const positions = this.positions.get(client) ?? new BucketPositions(client);
    this.positions.set(client, positions);
    return await positions.of(collectionId);
  }

  /** After a bucket of this name was deleted or made anew. */
  forget(bucket: string): void {
    const client = this.clients.get(bucket);
    this.clients.delete(bucket);
    client?.then(
      (one) => one.close(),
      () => {}, // it was never open
    );
  }

  closeAll(): void {
    for (const bucket of [...this.clients.keys()]) this.forget(bucket);
  }

  private open(bucket: string): Promise<BucketClient> {
    const { access } = this;
    if (access === null) return Promise.reject(new Error('the data service is not known yet'));
    for (const oldest of this.clients.keys()) if (this.clients.size >= bucketsMax) this.forget(oldest);
    const opening = BucketClient.open({ ...access, bucket });
    this.clients.set(bucket, opening);
    opening.catch(() => {
      if (this.clients.get(bucket) === opening) this.clients.delete(bucket);
    });
    return opening;
  }
}
