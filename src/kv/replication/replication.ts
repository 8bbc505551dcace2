// Replication between the data services of a cluster: passes the messages of other nodes to the buckets they concern.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import {
  type KvCluster,
  type MapChange,
  type MapOutcome,
  type PeerTls,
  promiseMsMax,
  type SyncMember,
} from '../admin.ts';
import { BucketReplication } from './bucket-replication.ts';
import type { BucketReplicationOptions } from './bucket-replication-options.ts';
import type { RollbackLimits } from './copy-rollbacks.ts';
import { EarlyOpens } from './early-opens.ts';
import type { BatchBody, ContinuedMessage, PeerMessage } from './frames.ts';
import type { LinkHost } from './link.ts';
import { PeerConnections } from './peers.ts';
import { WarmingBucket } from './warming-bucket.ts';

export interface ReplicationOptions {
  self: SyncMember;
  links: LinkHost<PeerTls>;
  /** Proposes a change of the map of shards to the configuration. */
  change: (change: MapChange) => Promise<MapOutcome>;
  /** Other limits than usual, for tests. */
  rollbackLimits?: RollbackLimits | undefined;
  /** Updates the current time, which does not pass within a turn. */
  tick: () => void;
  clock: Clock;
  log: Log;
}

interface BucketPart extends Pick<BucketReplicationOptions, 'uuid' | 'incarnation' | 'bucket' | 'changed'> {
  /** Which engine of the bucket on this node may have made promises before: none, one of an earlier process, or one of this process. */
  earlier: 'none' | 'process' | 'engine';
}

export class Replication {
  private readonly options: ReplicationOptions;
  private readonly startedMs: number;
  private readonly peers: PeerConnections;
  private readonly buckets = new Map<string, BucketReplication>();
  /** Buckets that load their documents, whose shards other members may serve meanwhile. */
  private readonly warming = new Map<string, WarmingBucket>();
  private readonly early: EarlyOpens;
  /** For each bucket that failed to start in this process: the boot ids of earlier processes whose memory its files contain. */
  private readonly failedBoots = new Map<string, readonly string[]>();
  /** This node keeps copies that the map no longer gives to it. */
  private keepsCopies = false;

  constructor(options: ReplicationOptions) {
    this.options = options;
    const { clock, links, log, self, tick } = options;
    this.startedMs = clock.monotonicMs();
    this.early = new EarlyOpens(clock);
    this.peers = new PeerConnections({
      self,
      clock,
      log,
      connect: (peer) => links.connect(peer),
      events: {
        connected: (node) => {
          this.each((bucket) => bucket.connected(node));
          this.eachWarming((bucket) => bucket.connected(node));
        },
        disconnected: (node) => {
          this.early.discard(node);
          this.each((bucket) => bucket.disconnected(node));
          this.eachWarming((bucket) => bucket.disconnected(node));
        },
        hasRoom: (node) => this.each((bucket) => bucket.hasRoom(node)),
        arrived: tick,
        received: (node, message, body, bytes) => this.receive(node, message, body, bytes),
      },
    });
    links.accepted = (link) => this.peers.accept(link);
  }

  get boot(): string {
    return this.options.self.boot;
  }

  follow({ keepsCopies = false, peers, promiseMs = promiseMsMax, tls }: KvCluster): void {
    this.keepsCopies = keepsCopies;
    this.peers.promiseMs = Math.min(promiseMs, promiseMsMax);
    if (tls !== null) this.options.links.useTls(tls);
    this.peers.follow(peers);
  }

  /** Begins to replicate a bucket. An earlier engine of the bucket is replaced. */
  add({ earlier, ...part }: BucketPart): BucketReplication {
    this.remove(part.uuid);
    const { peers } = this;
    const { change, clock, log, rollbackLimits, self, tick } = this.options;
    const promisedUntilMs = this.promisedUntil(earlier);
    const replication = new BucketReplication({
      ...part,
      promisedUntilMs,
      self,
      change,
      rollbackLimits,
      clock,
      log,
      tick,
      peers,
      followsEarlierProcess: earlier === 'process',
      early: this.early,
      keepsCopies: () => this.keepsCopies,
    });
    this.buckets.set(part.uuid, replication);
    return replication;
  }

  /**
   * Call when the files of the bucket are open, were not closed cleanly, and the load of the documents begins: members that kept their
   * memory serve the bucket's shards meanwhile.
   */
  warm(uuid: string): WarmingBucket {
    const { peers, warming } = this;
    warming.get(uuid)?.close();
    const bucket = new WarmingBucket({ ...this.options, peers, uuid });
    warming.set(uuid, bucket);
    return bucket;
  }

  /** The monotonic time until which promises of earlier engines may be valid. */
  private promisedUntil(earlier: BucketPart['earlier']): number {
    if (earlier === 'none') return -Infinity;
    return promiseMsMax + (earlier === 'process' ? this.startedMs : this.options.clock.monotonicMs());
  }

  remove(uuid: string): void {
    this.buckets.get(uuid)?.close();
    this.buckets.delete(uuid);
    this.warming.get(uuid)?.close();
    this.warming.delete(uuid);
    this.failedBoots.delete(uuid);
  }

  /** Call when the bucket failed to start in this process. Sends `boots` to the other nodes, which wait for them: the boot ids that this process continues. */
  failed(uuid: string, boots: readonly string[]): void {
    if (this.failedBoots.has(uuid) || this.buckets.has(uuid)) return;
    this.failedBoots.set(uuid, boots);
    for (const node of this.peers.connected()) this.sendContinued(node, uuid);
  }

  private sendContinued(node: string, bucket: string): void {
    const boots = this.failedBoots.get(bucket);
    if (boots !== undefined && this.peers.saysContinued(node))
      this.peers.send(node, { kind: 'continued', bucket, boots, asks: false });
  }

  /** Nothing is replicated from now on; the connections stay open for `release`. */
  stop(): void {
    this.peers.stop();
    for (const uuid of [...this.buckets.keys(), ...this.warming.keys()]) this.remove(uuid);
  }

  /** Call when this process no longer answers clients: other nodes may then serve in its place at once. */
  release(): Promise<void> {
    return this.peers.releasePromises();
  }

  close(): void {
    this.stop();
    this.peers.close();
  }

  private each(act: (bucket: BucketReplication) => void): void {
    for (const bucket of this.buckets.values()) act(bucket);
  }

  private eachWarming(act: (bucket: WarmingBucket) => void): void {
    for (const bucket of this.warming.values()) act(bucket);
  }

  private receiveContinued(node: string, message: ContinuedMessage): void {
    const warming = this.warming.get(message.bucket);
    if (warming !== undefined) warming.received(node, message);
    else if (message.asks) this.sendContinued(node, message.bucket);
  }

  private receive(node: string, message: PeerMessage, body: BatchBody, bytes: number): void {
    if (!('bucket' in message)) return;
    const bucket = this.buckets.get(message.bucket);
    if (bucket !== undefined) bucket.received(node, message, body, bytes);
    else if (message.kind === 'open') this.early.add(node, message);
    else if (message.kind === 'continued') this.receiveContinued(node, message);
    else if (message.kind === 'batch') {
      const { bucket: uuid, epoch, shard } = message;
      this.peers.send(node, { kind: 'failed', bucket: uuid, shard, epoch, rows: [], bytes });
    }
  }
}
