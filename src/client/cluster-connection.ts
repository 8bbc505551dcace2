// Sends the requests of one client on a bucket to the nodes that serve their vbuckets, over one connection to each node. A request that
// a node refuses because the vbucket is elsewhere is sent again, by the newest map, for a few seconds.
import { deferred } from '#base/deferred.ts';
import type { Clock, Timer } from '#ports/clock.ts';
import { type Frame, responseStatus } from '#wire/frame.ts';
import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { type BucketClientOptions, openOnBucket } from './bucket-client.ts';
import { addressOfNode, type ClusterRoutes } from './cluster-routes.ts';
import { DataPortError, StatusError, UnsentError } from './data-port-error.ts';
import type { ReceiveReply, RequestSender, WireConnection } from './wire-connection.adapter.ts';
import { replyOf, successOf, type WireReply } from './wire-reply.ts';

export interface ClusterConnectionOptions extends BucketClientOptions {
  readonly routes: ClusterRoutes;
  readonly clock: Clock;
}

/** Pauses before a refused request is sent again: about five seconds in all. */
const retryPauseMs = { first: 10, most: 200 } as const;
const attemptsMax = 30;
/** Another node may get a new collection later than this one: about a second. */
const collectionAttemptsMax = 10;
/** A node may get a new bucket later than this one. */
const selectRetry = { attemptsMax: 20, pauseMs: 100 } as const;
/**
 * How long a node that serves no vbuckets any more may be silent while requests to it wait. After a planned change of the map the node answers them. A
 * node that stays silent counts as hung and failed over: its requests fail now, and not after the time limit of a connection, so that reads are
 * repeated elsewhere.
 */
const silenceMaxMs = 3_000;

export class ClusterConnection implements RequestSender {
  private readonly options: ClusterConnectionOptions;
  private readonly connections = new Map<string, NodeConnection>();
  private readonly delayed = new Map<ReceiveReply, Timer>();
  /** By connection to a node that serves no vbuckets any more: the timer that ends its time to answer. */
  private readonly silenceTimers = new Map<NodeConnection, Timer>();
  private readonly changes: { stop(): void };
  private hasEnded = false;

  private constructor(options: ClusterConnectionOptions) {
    this.options = options;
    this.changes = options.routes.onChange(() => this.watchNodesWithoutVbuckets());
  }

  /** Connects to this node; to the others with the first request for each. */
  static async open(options: ClusterConnectionOptions): Promise<ClusterConnection> {
    const connection = new ClusterConnection(options);
    await connection.connectionTo(options.routes.self).ready;
    return connection;
  }

  get isClosed(): boolean {
    return this.hasEnded;
  }

  send(request: RequestParts, receive: ReceiveReply): void {
    this.attempt(request, receive, 0);
  }

  /** Sends to the given node, even if the map has the vbucket on another one. */
  sendTo(node: string, request: RequestParts, receive: ReceiveReply): void {
    if (this.hasEnded) receive(null);
    else this.connectionTo(node).send(request, receive);
  }

  /** Undefined: the nodes that serve these vbuckets are connected. The promise rejects with UnsentError if one of them cannot be. */
  reach(vbuckets: Iterable<number>): Promise<void> | undefined {
    const { routes, bucket } = this.options;
    const missing = new Set<string | null>();
    for (const vb of vbuckets) {
      const node = routes.activeOf(bucket, vb);
      if (node === null || !this.connections.get(node)?.isOpen) missing.add(node);
    }
    return missing.size === 0 ? undefined : this.connectTo(missing);
  }

  request(request: RequestParts): Promise<WireReply> {
    return replyTo((receive) => this.send(request, receive));
  }

  async expect(request: RequestParts): Promise<WireReply> {
    return successOf(request, await this.request(request));
  }

  async expectOf(node: string, request: RequestParts): Promise<WireReply> {
    return successOf(request, await replyTo((receive) => this.sendTo(node, request, receive)));
  }

  close(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.changes.stop();
    for (const timer of this.silenceTimers.values()) timer.cancel();
    this.silenceTimers.clear();
    for (const connection of this.connections.values()) connection.close();
    this.connections.clear();
    const delayed = [...this.delayed];
    this.delayed.clear();
    for (const [receive, timer] of delayed) {
      timer.cancel();
      receive(null);
    }
  }

  /** Sends to the node that is active for the vbucket. Any node can answer a request without a vbucket, so this node gets it. */
  private attempt(request: RequestParts, receive: ReceiveReply, attempts: number): void {
    const { routes, bucket } = this.options;
    if (this.hasEnded) {
      receive(null);
      return;
    }
    const node = request.vb === undefined ? routes.self : routes.activeOf(bucket, request.vb);
    if (node === null) {
      if (attempts >= attemptsMax) receive(null);
      else this.retryLater(request, receive, attempts);
      return;
    }
    const connection = this.connectionTo(node);
    connection.send(request, (frame) => {
      connection.replies++;
      if (frame === null || !this.mayRetry(frame, node, attempts)) return receive(frame);
      this.retryLater(request, receive, attempts);
      return true;
    });
  }

  private watchNodesWithoutVbuckets(): void {
    const { routes, bucket } = this.options;
    for (const [node, connection] of this.connections) {
      const isWatched = this.silenceTimers.has(connection) || connection.hasEnded || node === routes.self;
      if (!isWatched && !routes.isServing(node, bucket)) this.closeIfSilent(node, connection);
    }
  }

  private closeIfSilent(node: string, connection: NodeConnection): void {
    const { routes, bucket, clock } = this.options;
    const { replies } = connection;
    const timer = clock.after(silenceMaxMs, () => {
      this.silenceTimers.delete(connection);
      if (!connection.isWaiting || routes.isServing(node, bucket)) return;
      if (connection.replies === replies) connection.close();
      else this.closeIfSilent(node, connection);
    });
    this.silenceTimers.set(connection, timer);
  }

  private async connectTo(nodes: ReadonlySet<string | null>): Promise<void> {
    if (this.hasEnded) throw new UnsentError('the connection to the data port has ended');
    const connecting = [...nodes].map(async (node) => {
      if (node === null) throw new UnsentError('no node serves the vbucket of a document');
      await this.connectionTo(node).ready.catch((error: Error) => {
        throw error instanceof StatusError ? error : new UnsentError(error.message);
      });
    });
    await Promise.all(connecting);
  }

  private mayRetry(frame: Frame, node: string, attempts: number): boolean {
    const status = responseStatus(frame);
    if (status === Status.notMyVbucket) return attempts < attemptsMax;
    const isOtherNode = node !== this.options.routes.self;
    return isOtherNode && status === Status.unknownCollection && attempts < collectionAttemptsMax;
  }

  private retryLater(request: RequestParts, receive: ReceiveReply, attempts: number): void {
    const delayMs = Math.min(retryPauseMs.first * 2 ** attempts, retryPauseMs.most);
    const timer = this.options.clock.after(delayMs, () => {
      this.delayed.delete(receive);
      this.attempt(request, receive, attempts + 1);
    });
    this.delayed.set(receive, timer);
  }

  private connectionTo(node: string): NodeConnection {
    const existing = this.connections.get(node);
    if (existing !== undefined && !existing.hasEnded) return existing;
    const connection = new NodeConnection(() => this.connect(node));
    this.connections.set(node, connection);
    // Without the data service of this node the client cannot continue.
    if (node === this.options.routes.self) void connection.ended.then(() => this.close());
    return connection;
  }

  private async connect(node: string): Promise<WireConnection> {
    const { routes, clock, bucket, account } = this.options;
    if (node === routes.self) return await openOnBucket(this.options);
    const address = addressOfNode(routes, node);
    if (address === undefined) throw new DataPortError(`node ${node} left the cluster`);
    for (let attempt = 0; ; attempt++) {
      try {
        return await openOnBucket({ address, account, bucket });
      } catch (error) {
        const isUnknown =
          error instanceof StatusError && [Status.noBucket, Status.noAccess].includes(error.status as never);
        if (!isUnknown || attempt >= selectRetry.attemptsMax || this.hasEnded) throw error;
      }
      await clock.sleep(selectRetry.pauseMs);
    }
  }
}

/** The connection to one node; requests wait until it is open. */
class NodeConnection {
  readonly ready: Promise<void>;
  /** Resolves when the connection ended, or could not be opened. */
  readonly ended: Promise<void>;
  hasEnded = false;
  /** How many replies to requests for vbuckets were received. */
  replies = 0;
  private connection: WireConnection | null = null;
  private waiting: { request: RequestParts; receive: ReceiveReply }[] = [];

  constructor(connect: () => Promise<WireConnection>) {
    const opened = connect().then((connection) => this.begin(connection));
    this.ready = opened.then(() => {});
    this.ended = opened.then(
      (connection) => connection.closed.then(() => this.end()),
      () => this.end(),
    );
    this.ready.catch(() => {}); // `end` answers the requests that wait
  }

  get isOpen(): boolean {
    return this.connection !== null && !this.hasEnded;
  }

  /** Whether requests wait for their replies. */
  get isWaiting(): boolean {
    if (this.hasEnded) return false;
    return this.connection === null ? this.waiting.length > 0 : this.connection.inFlight > 0;
  }

  send(request: RequestParts, receive: ReceiveReply): void {
    if (this.connection !== null) this.connection.send(request, receive);
    else if (this.hasEnded) receive(null);
    else this.waiting.push({ request, receive });
  }

  close(): void {
    this.connection?.close();
    this.end();
  }

  private begin(connection: WireConnection): WireConnection {
    if (this.hasEnded) {
      connection.close();
      return connection;
    }
    this.connection = connection;
    for (const { request, receive } of this.waiting.splice(0)) connection.send(request, receive);
    return connection;
  }

  private end(): void {
    this.hasEnded = true;
    for (const { receive } of this.waiting.splice(0)) receive(null);
  }
}

function replyTo(send: (receive: ReceiveReply) => void): Promise<WireReply> {
  const reply = deferred<WireReply>();
  send((frame) => {
    if (frame === null) reply.reject(new DataPortError('a node that serves the bucket cannot be reached'));
    else reply.resolve(replyOf(frame));
    return true;
  });
  return reply.promise;
}
