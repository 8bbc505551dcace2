// A client of a bucket whose vbuckets are on several nodes: used like a client of one node; answers that concern all vbuckets are merged.
import type { Clock } from '#ports/clock.ts';
import { GetAllVbSeqnos } from '#wire/commands/bucket.ts';
import { Status } from '#wire/status.ts';
import { BucketClient } from './bucket-client.ts';
import { ClusterConnection, type ClusterConnectionOptions } from './cluster-connection.ts';
import type { ClusterRoutes } from './cluster-routes.ts';
import { StatusError } from './data-port-error.ts';
import { vbucketCount } from './document-key.ts';
import { itemsGroup, itemsIn } from './item-counts.ts';
import { seqnosIn, seqnosRequest } from './seqnos.ts';

/** Together five seconds. */
const retryMs = 100;
const retriesMax = 50;

export class ClusterBucketClient extends BucketClient {
  override readonly isSpread = true;
  private readonly nodes: ClusterConnection;
  private readonly routes: ClusterRoutes;
  private readonly clock: Clock;
  /** The last reading of seqnos. */
  private reading: Promise<unknown> = Promise.resolve();

  private constructor(options: ClusterConnectionOptions, nodes: ClusterConnection) {
    super(options.bucket, nodes);
    this.nodes = nodes;
    this.routes = options.routes;
    this.clock = options.clock;
  }

  static async openAll(options: ClusterConnectionOptions): Promise<ClusterBucketClient> {
    return new ClusterBucketClient(options, await ClusterConnection.open(options));
  }

  /** @throws StatusError notMyVbucket while a vbucket has no node, or moves */
  override highSeqnos(collectionId?: number): Promise<Float64Array> {
    const reading = this.retried(() => this.readSeqnos(collectionId));
    this.reading = reading.catch(() => {}); // the caller has the failure
    return reading;
  }

  /** Requested after the seqnos that a caller has requested before. */
  override async histories(): Promise<string> {
    await this.reading;
    const { revision } = this.routes;
    const digests = await this.ofEach('histories', (figures, node) => `${node} ${figures.get('histories')}`);
    return [revision, ...digests].join('\n');
  }

  override async itemCount(collectionId: number): Promise<number> {
    const counts = await this.ofEach(itemsGroup(collectionId), itemsIn);
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Something of a group of statistics of each node that serves vbuckets. */
  private ofEach<T>(
    group: string,
    read: (figures: ReadonlyMap<string, string>, node: string) => T,
  ): Promise<T[]> {
    return this.retried(() =>
      Promise.all(
        this.servingNodes().map(async (node) => read(await this.statsOf(this.senderTo(node), group), node)),
      ),
    );
  }

  /** Reads again while a vbucket moves, for a few seconds. */
  private async retried<T>(read: () => Promise<T>): Promise<T> {
    for (let times = 0; ; times++) {
      try {
        return await read();
      } catch (error) {
        const isMoving = error instanceof StatusError && error.status === Status.notMyVbucket;
        if (!isMoving || times >= retriesMax || this.isClosed) throw error;
      }
      await this.clock.sleep(retryMs);
    }
  }

  private async readSeqnos(collectionId?: number): Promise<Float64Array> {
    const { bucket, nodes, routes } = this;
    const seqnos = new Float64Array(vbucketCount).fill(-1);
    const readings = this.servingNodes().map(async (node) => {
      const { value } = await nodes.expectOf(node, seqnosRequest(collectionId));
      for (const [vb, seqno] of seqnosIn(value)) if (routes.activeOf(bucket, vb) === node) seqnos[vb] = seqno;
    });
    await Promise.all(readings);
    if (seqnos.includes(-1)) throw vbucketElsewhere();
    return seqnos;
  }

  private servingNodes(): string[] {
    const byNode = this.routes.vbuckets(this.bucket);
    if (byNode.has(null)) throw vbucketElsewhere();
    return [...byNode.keys()] as string[];
  }

  private senderTo(node: string): Pick<ClusterConnection, 'send'> {
    return { send: (request, take) => this.nodes.sendTo(node, request, take) };
  }
}

const vbucketElsewhere = () => new StatusError(GetAllVbSeqnos.opcode, Status.notMyVbucket);
