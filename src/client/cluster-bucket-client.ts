// A client of a bucket whose vbuckets are on several nodes: used like a client of one node; answers that concern all vbuckets are merged.
import type { Clock } from '#ports/clock.ts';
import { untilAborted } from '#ports/within.ts';
import { GetAllVbSeqnos } from '#wire/commands/bucket.ts';
import { Status } from '#wire/status.ts';
import { BucketClient, type PartialReplies, type StoreReply, type StoreRequest } from './bucket-client.ts';
import { ClusterConnection, type ClusterConnectionOptions } from './cluster-connection.ts';
import type { ClusterRoutes } from './cluster-routes.ts';
import { StatusError, UnsentError } from './data-port-error.ts';
import { vbucketCount, vbucketOf } from './document-key.ts';
import { itemsGroup, itemsIn } from './item-counts.ts';
import { seqnosIn, seqnosRequest } from './seqnos.ts';

/** All retries together receive five seconds. */
const retryPauseMs = 100;
const retriesMax = 50;
/** In place of a seqno that was not read yet. */
const missing = -1;

export class ClusterBucketClient extends BucketClient {
  override readonly isSpread = true;
  private readonly nodes: ClusterConnection;
  private readonly routes: ClusterRoutes;
  private readonly clock: Clock;
  /** The newest read of seqnos, which `historyDigest` awaits. */
  private lastSeqnoRead: Promise<unknown> = Promise.resolve();

  private constructor(options: ClusterConnectionOptions, nodes: ClusterConnection) {
    super(options.bucket, nodes);
    this.nodes = nodes;
    this.routes = options.routes;
    this.clock = options.clock;
  }

  static async openAll(options: ClusterConnectionOptions): Promise<ClusterBucketClient> {
    return new ClusterBucketClient(options, await ClusterConnection.open(options));
  }

  /** @throws UnsentError if a node of a document cannot be reached: then no write was sent */
  override async storeMany(
    collectionId: number,
    requests: readonly StoreRequest[],
    signal?: AbortSignal,
    replies?: PartialReplies,
  ): Promise<StoreReply[]> {
    const reaching = this.nodes.reach(requests.map(({ key }) => vbucketOf(key)));
    if (reaching !== undefined) await (signal === undefined ? reaching : reachedBefore(signal, reaching));
    return await super.storeMany(collectionId, requests, signal, replies);
  }

  /** @throws StatusError notMyVbucket while a vbucket has no node, or moves */
  override highSeqnos(collectionId?: number): Promise<Float64Array> {
    // While many vbuckets move there may be no moment in which all are served: each seqno is read when its vbucket is served.
    const seqnos = new Float64Array(vbucketCount).fill(missing);
    const reading = this.retryWhileMoving(() => this.readMissing(seqnos, collectionId));
    this.lastSeqnoRead = reading.catch(() => {}); // the caller has the failure
    return reading;
  }

  /** Read after the seqnos that the caller requested before, so that a change of the history in between is seen. */
  override async historyDigest(): Promise<string> {
    await this.lastSeqnoRead;
    const { revision } = this.routes;
    const digests = await this.readFromEach(
      'histories',
      (figures, node) => `${node} ${figures.get('histories')}`,
    );
    return [revision, ...digests].join('\n');
  }

  override async itemCount(collectionId: number): Promise<number> {
    const counts = await this.readFromEach(itemsGroup(collectionId), itemsIn);
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Reads a group of statistics from each node that serves vbuckets. */
  private readFromEach<T>(
    group: string,
    read: (figures: ReadonlyMap<string, string>, node: string) => T,
  ): Promise<T[]> {
    return this.retryWhileMoving(() =>
      Promise.all(
        this.servingNodes().map(async (node) => read(await this.statsOf(this.senderTo(node), group), node)),
      ),
    );
  }

  /** Repeats a read while a vbucket moves, for a few seconds. */
  private async retryWhileMoving<T>(read: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await read();
      } catch (error) {
        const isMoving = error instanceof StatusError && error.status === Status.notMyVbucket;
        if (!isMoving || attempt >= retriesMax || this.isClosed) throw error;
      }
      await this.clock.sleep(retryPauseMs);
    }
  }

  /** Reads the seqnos that are missing from the nodes that serve their vbuckets now. */
  private async readMissing(seqnos: Float64Array, collectionId?: number): Promise<Float64Array> {
    const { bucket, nodes, routes } = this;
    const serving = [...routes.vbuckets(bucket)].flatMap(([node, vbs]) =>
      node !== null && vbs.some((vb) => seqnos[vb] === missing) ? [node] : [],
    );
    const readings = serving.map(async (node) => {
      const { value } = await nodes.expectOf(node, seqnosRequest(collectionId));
      for (const [vb, seqno] of seqnosIn(value))
        if (seqnos[vb] === missing && routes.activeOf(bucket, vb) === node) seqnos[vb] = seqno;
    });
    await Promise.all(readings);
    if (seqnos.includes(missing)) throw vbucketNotServed();
    return seqnos;
  }

  private servingNodes(): string[] {
    const byNode = this.routes.vbuckets(this.bucket);
    if (byNode.has(null)) throw vbucketNotServed();
    return [...byNode.keys()] as string[];
  }

  private senderTo(node: string): Pick<ClusterConnection, 'send'> {
    return { send: (request, receive) => this.nodes.sendTo(node, request, receive) };
  }
}

/** @throws UnsentError also when the signal aborts: a caller learns that nothing was sent */
async function reachedBefore(signal: AbortSignal, reaching: Promise<void>): Promise<void> {
  try {
    await untilAborted(signal, reaching);
  } catch (error) {
    if (error === signal.reason) throw new UnsentError((error as Error).message, { cause: error });
    throw error;
  }
}

const vbucketNotServed = () => new StatusError(GetAllVbSeqnos.opcode, Status.notMyVbucket);
