// Connections to the data service: one per bucket that statements use and one for its scans. They are opened on demand and reopened
// after a failure.
import { BucketClient } from '#client/bucket-client.ts';
import { ClusterBucketClient } from '#client/cluster-bucket-client.ts';
import { type ClusterLayout, ClusterRoutes } from '#client/cluster-routes.ts';
import { vbucketOf } from '#client/document-key.ts';
import type { WireAccount, WireAddress } from '#client/wire-address.ts';
import type { Clock } from '#ports/clock.ts';
import type { BatchedDocuments } from './batched-documents.ts';
import { BucketPositions, type CollectionPositions } from './bucket-positions.ts';
import { BucketRefusals } from './bucket-refusals.ts';
import type { QuickReads } from './quick-reads.ts';

export interface DataAccess {
  readonly address: WireAddress;
  readonly account: WireAccount;
}

const connectionsMax = 256;
/** From this share of the limit of connections on, their uses are recorded: nodes with few buckets save the time for it. */
const recordedFrom = 0.5;
/** How long earlier connections are kept after this node joined others. */
const retireMs = 30_000;
/** The key of the scan connection; no bucket has such a name. */
const scansOf = (bucket: string): string => `${bucket}\0scans`;

export class BucketClients {
  /** Least recently used first. */
  private readonly clients = new Map<string, Promise<BucketClient>>();
  /** The clients whose connection is open, by their entry in `clients`. */
  private readonly opened = new WeakMap<Promise<BucketClient>, BucketClient>();
  private readonly positions = new WeakMap<BucketClient, BucketPositions>();
  /** By bucket. */
  private readonly refusals = new Map<string, BucketRefusals>();
  /** Documents of all buckets in batches; null: only through the data port. */
  readonly batches: BatchedDocuments | null;
  /** Reads of few documents, for which this thread waits; null: only through the data port. */
  readonly quick: QuickReads | null;
  readonly clock: Clock;
  private access: DataAccess | null = null;
  /** Null while this node is the only one. */
  private routes: ClusterRoutes | null = null;
  private readonly connectionsMax: number;

  constructor(
    clock: Clock,
    batches: BatchedDocuments | null = null,
    quick: QuickReads | null = null,
    limit = connectionsMax,
  ) {
    this.connectionsMax = limit;
    this.clock = clock;
    this.batches = batches;
    this.quick = quick;
  }

  /** Sets which nodes have which vbuckets; null: this node has all. */
  follow(state: ClusterLayout | null): void {
    if (state !== null && this.routes !== null) {
      this.routes.set(state);
      return;
    }
    if (state === this.routes) return;
    this.routes = state && new ClusterRoutes(state);
    this.retireAll();
  }

  /** Whether the document's vbucket is on this node. */
  isHere(bucket: string, id: string): boolean {
    const { routes } = this;
    return routes === null || routes.activeOf(bucket, vbucketOf(id)) === routes.self;
  }

  /** Whether some vbuckets may be on other nodes. */
  get isSpread(): boolean {
    return this.routes !== null;
  }

  refusalsOf(bucket: string): BucketRefusals {
    let found = this.refusals.get(bucket);
    if (found === undefined) this.refusals.set(bucket, (found = new BucketRefusals()));
    return found;
  }

  /** Sets the address of the data service; closes open connections. */
  use(access: DataAccess): void {
    this.closeAll();
    this.access = access;
  }

  /**
   * @throws StatusError when the data service refuses access to the bucket
   * @throws DataPortError without a connection
   */
  clientOf(bucket: string): Promise<BucketClient> {
    return this.connected(bucket, bucket);
  }

  /** The open connection that `clientOf` would return, without waiting for a promise; null: none is open yet. */
  openClient(bucket: string): BucketClient | null {
    const opening = this.clients.get(bucket);
    const open = opening && this.opened.get(opening);
    if (open === undefined || open.isClosed) return null;
    this.recordUse(bucket);
    return open;
  }

  /** A separate connection: on a shared one, reads of documents would wait for the pages of a scan. */
  forScans(bucket: string): Promise<BucketClient> {
    return this.connected(scansOf(bucket), bucket);
  }

  /** The newest seqno of each vbucket of a collection, with the uuid of its history. */
  async positionsOf(bucket: string, collectionId: number): Promise<CollectionPositions> {
    const client = await this.clientOf(bucket);
    const positions = this.positions.get(client) ?? new BucketPositions(client);
    this.positions.set(client, positions);
    return await positions.positionsOf(collectionId);
  }

  /** Closes the connections of a bucket that was deleted or recreated. */
  discard(bucket: string): void {
    this.close(bucket);
    this.close(scansOf(bucket));
    this.refusals.delete(bucket);
  }

  closeAll(): void {
    for (const key of [...this.clients.keys()]) this.close(key);
  }

  private async connected(key: string, bucket: string): Promise<BucketClient> {
    const earlier = this.clients.get(key);
    if (earlier !== undefined) {
      this.recordUse(key);
      const client = await earlier;
      if (!client.isClosed) return client;
      // Another call may have begun to open the next connection while this one waited.
      const current = this.clients.get(key);
      if (current !== undefined && current !== earlier) return await current;
    }
    return await this.open(key, bucket);
  }

  /** Statements that use the present connections finish with them. */
  private retireAll(): void {
    const retired = [...this.clients.values()];
    this.clients.clear();
    this.clock.after(retireMs, () => {
      for (const client of retired) closeOpening(client);
    });
  }

  private close(key: string): void {
    const client = this.clients.get(key);
    this.clients.delete(key);
    if (client !== undefined) closeOpening(client);
  }

  private recordUse(key: string): void {
    if (this.clients.size < recordedFrom * this.connectionsMax) return;
    const client = this.clients.get(key);
    if (client === undefined) return;
    this.clients.delete(key);
    this.clients.set(key, client);
  }

  private open(key: string, bucket: string): Promise<BucketClient> {
    const { access } = this;
    if (access === null) return Promise.reject(new Error('the address of the data service is not known yet'));
    for (const unused of this.clients.keys())
      if (this.clients.size >= this.connectionsMax) this.close(unused);
    const { clock, routes } = this;
    const opening: Promise<BucketClient> =
      routes === null
        ? BucketClient.open({ ...access, bucket })
        : ClusterBucketClient.openAll({ ...access, bucket, clock, routes });
    this.clients.set(key, opening);
    opening.then(
      (client) => this.opened.set(opening, client),
      () => {
        if (this.clients.get(key) === opening) this.clients.delete(key);
      },
    );
    return opening;
  }
}

function closeOpening(client: Promise<BucketClient>): void {
  client.then(
    (bucketClient) => bucketClient.close(),
    () => {}, // the connection never opened
  );
}
