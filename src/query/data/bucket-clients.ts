// Connections to the data service: one per bucket that statements use and one for its scans. They are opened on demand and reopened
// after a failure.
import { BucketClient } from '#client/bucket-client.ts';
import type { WireAccount, WireAddress } from '#client/wire-connection.adapter.ts';
import type { BatchedDocuments } from './batched-documents.ts';
import { BucketPositions, type CollectionPositions } from './bucket-positions.ts';

export interface DataAccess {
  readonly address: WireAddress;
  readonly account: WireAccount;
}

const connectionsMax = 256;
/** The key of the scan connection; no bucket has such a name. */
const scansOf = (bucket: string): string => `${bucket}\0scans`;

export class BucketClients {
  private readonly clients = new Map<string, Promise<BucketClient>>();
  private readonly positions = new WeakMap<BucketClient, BucketPositions>();
  /** Documents of all buckets in batches; null: only through the data port. */
  readonly batches: BatchedDocuments | null;
  private access: DataAccess | null = null;

  constructor(batches: BatchedDocuments | null = null) {
    this.batches = batches;
  }

  /** Sets the address of the data service; closes open connections. */
  use(access: DataAccess): void {
    this.closeAll();
    this.access = access;
  }

  /**
   * @throws StatusError when the bucket cannot be entered
   * @throws DataPortError without a connection
   */
  of(bucket: string): Promise<BucketClient> {
    return this.connected(bucket, bucket);
  }

  /** A separate connection: on a shared one, reads of documents would wait for the pages of a scan. */
  forScans(bucket: string): Promise<BucketClient> {
    return this.connected(scansOf(bucket), bucket);
  }

  private async connected(key: string, bucket: string): Promise<BucketClient> {
    const open = await this.clients.get(key);
    if (open !== undefined && !open.isClosed) return open;
    return await this.open(key, bucket);
  }

  /** The newest seqno of each vbucket of a collection, with the uuid of its history. */
  async positionsOf(bucket: string, collectionId: number): Promise<CollectionPositions> {
    const client = await this.of(bucket);
    const positions = this.positions.get(client) ?? new BucketPositions(client);
    this.positions.set(client, positions);
    return await positions.of(collectionId);
  }

  /** Closes the connections of a bucket that was deleted or recreated. */
  forget(bucket: string): void {
    this.close(bucket);
    this.close(scansOf(bucket));
  }

  closeAll(): void {
    for (const key of [...this.clients.keys()]) this.close(key);
  }

  private close(key: string): void {
    const client = this.clients.get(key);
    this.clients.delete(key);
    client?.then(
      (one) => one.close(),
      () => {}, // the connection never opened
    );
  }

  private open(key: string, bucket: string): Promise<BucketClient> {
    const { access } = this;
    if (access === null) return Promise.reject(new Error('the data service is not known yet'));
    for (const oldest of this.clients.keys()) if (this.clients.size >= connectionsMax) this.close(oldest);
    const opening = BucketClient.open({ ...access, bucket });
    this.clients.set(key, opening);
    opening.catch(() => {
      if (this.clients.get(key) === opening) this.clients.delete(key);
    });
    return opening;
  }
}
