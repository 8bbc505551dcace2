// The documents of one bucket, for commands: connections to all its nodes, each request to the node that has the key.
import { hostAndPortOf } from '#base/host-and-port.ts';
import { reachedHost } from '#base/host-placeholder.ts';
import { type BucketConfig, dataAddresses, serverTls } from '#client/bucket-addresses.ts';
import { BucketClient, type StoreReply, type StoreRequest } from '#client/bucket-client.ts';
import { DataPortError, isTransient, StatusError, statusName } from '#client/data-port-error.ts';
import { vbucketOf } from '#client/document-key.ts';
import type { FetchedDocument } from '#client/fetched-document.ts';
import type { WireAddress } from '#client/wire-address.ts';
import type { RequestSender } from '#client/wire-connection.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import type { CommandTarget } from '../connection-options.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import { type RemoteNode, urlPath } from './remote-node.ts';

const timeoutMs = 30_000;
/** The command ends if a bucket refuses a write, or a node does not answer, for this time. */
const stuckAfterMs = 20_000;
const retryPauseMs = 50;

/** Histories of a vbucket, the newest first: uuid and the seqno at which it began. */
export type VbucketHistories = readonly (readonly [uuid: string, seqno: number])[];

export class BucketData {
  readonly bucket: string;
  private readonly node: RemoteNode;
  private readonly signal: AbortSignal | undefined;
  private clients = new Map<string, BucketClient>();
  private byVbucket: readonly string[] = [];

  private constructor(node: RemoteNode, bucket: string, signal: AbortSignal | undefined) {
    this.node = node;
    this.bucket = bucket;
    this.signal = signal;
  }

  /** @throws CommandError if there is no such bucket, or it serves no documents */
  static async open(node: RemoteNode, bucket: string, signal?: AbortSignal): Promise<BucketData> {
    const data = new BucketData(node, bucket, signal);
    try {
      await data.route();
      return data;
    } catch (error) {
      data.close();
      throw explained(error, bucket);
    }
  }

  get vbucketCount(): number {
    return this.byVbucket.length;
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
    this.clients.clear();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** @throws CommandError with the status `missing` */
  async collectionId(scope: string, collection: string): Promise<number> {
    const [client] = this.clients.values();
    const id = await (client as BucketClient).collectionId(scope, collection);
    if (id !== undefined) return id;
    const name = `${scope}.${collection}`;
    throw new CommandError(
      `bucket "${this.bucket}" has no collection "${name}"; create it with divan collection create ${this.bucket} ${name}`,
      ExitStatus.missing,
    );
  }

  /** Undefined: there is no such document. */
  async get(collectionId: number, key: string): Promise<FetchedDocument | undefined> {
    const sinceMs = realClock.monotonicMs();
    for (;;) {
      const [reply] = await this.clientOf(vbucketOf(key)).getMany(collectionId, [key], this.signal);
      if (typeof reply === 'object') return reply;
      const status = reply as number;
      if (status === Status.keyNotFound) return undefined;
      if (!isTransient(status) || realClock.monotonicMs() - sinceMs > stuckAfterMs)
        throw new CommandError(`document "${key}": ${statusName(status)}`);
      await this.reroute(status);
    }
  }

  /**
   * Sends all and waits for the replies; requests that a node refused temporarily, and those whose outcome is not known since a
   * connection ended, are sent again. `onLost` is called before a request whose outcome is not known is sent again.
   */
  async store(
    collectionId: number,
    requests: readonly StoreRequest[],
    onLost?: (index: number) => void,
  ): Promise<StoreReply[]> {
    const replies = new Array<StoreReply>(requests.length);
    let pending = requests.map((_, index) => index);
    let sinceMs = realClock.monotonicMs();
    while (pending.length > 0) {
      const remaining = await this.storeOnce(collectionId, requests, pending, replies, onLost);
      if (remaining.length < pending.length) sinceMs = realClock.monotonicMs();
      pending = remaining;
      if (remaining.length === 0) break;
      if (realClock.monotonicMs() - sinceMs > stuckAfterMs) throw this.stuck(replies[remaining[0] as number]);
      await this.reroute(replies[remaining[0] as number]?.status ?? Status.notMyVbucket);
    }
    return replies;
  }

  /** The histories of all vbuckets, each from its node, newest first. Null if the user may not read them. */
  async histories(): Promise<readonly VbucketHistories[] | null> {
    const sinceMs = realClock.monotonicMs();
    for (;;) {
      const figures = await this.failoverFigures();
      if (figures === null) return null;
      const all = this.byVbucket.map((server, vb) => historiesIn(figures.get(server), vb));
      if (all.every((histories) => histories.length > 0)) return all;
      if (realClock.monotonicMs() - sinceMs > stuckAfterMs)
        throw new CommandError(
          `bucket "${this.bucket}": a node does not say which histories its vbuckets have`,
        );
      await this.reroute(Status.notMyVbucket);
    }
  }

  /** By node; without those that do not answer. Null if the user may not read them. */
  private async failoverFigures(): Promise<Map<string, ReadonlyMap<string, string>> | null> {
    const found = new Map<string, ReadonlyMap<string, string>>();
    try {
      const reads = [...this.clients].map(async ([server, client]) => {
        found.set(server, await client.stats('failovers'));
      });
      for (const read of await Promise.allSettled(reads))
        if (read.status === 'rejected' && !(read.reason instanceof DataPortError)) throw read.reason;
      return found;
    } catch (error) {
      if (error instanceof StatusError && error.status === Status.noAccess) return null;
      throw error;
    }
  }

  /** The connection to the node that has the vbucket active. */
  senderOf(vb: number): RequestSender {
    return this.clientOf(vb).connection;
  }

  /** The node that has the vbucket. */
  nodeOf(vb: number): string {
    return this.byVbucket[vb] as string;
  }

  private async storeOnce(
    collectionId: number,
    requests: readonly StoreRequest[],
    indexes: readonly number[],
    replies: StoreReply[],
    onLost?: (index: number) => void,
  ): Promise<number[]> {
    const byNode = new Map<string, number[]>();
    for (const index of indexes) {
      const server = this.nodeOf(vbucketOf((requests[index] as StoreRequest).key));
      const nodeIndexes = byNode.get(server);
      if (nodeIndexes === undefined) byNode.set(server, [index]);
      else nodeIndexes.push(index);
    }
    const remaining: number[] = [];
    const sending = [...byNode].map(async ([server, nodeIndexes]) => {
      try {
        const client = this.clients.get(server);
        if (client === undefined) throw new DataPortError(`${server} is not connected`);
        const nodeReplies = await client.storeMany(
          collectionId,
          nodeIndexes.map((index) => requests[index] as StoreRequest),
        );
        for (const [position, reply] of nodeReplies.entries()) {
          const index = nodeIndexes[position] as number;
          replies[index] = reply;
          if (mayRepeat(reply.status)) remaining.push(index);
        }
      } catch (error) {
        if (!(error instanceof DataPortError)) throw error;
        for (const index of nodeIndexes) {
          onLost?.(index);
          remaining.push(index);
        }
      }
    });
    await Promise.all(sending);
    return remaining;
  }

  private stuck(reply: StoreReply | undefined): CommandError {
    const reason =
      reply === undefined
        ? 'its node cannot be reached'
        : reply.status === Status.outOfMemory || reply.status === Status.temporaryFailure
          ? 'it has no memory left; raise its quota (divan bucket edit --quota MB)'
          : statusName(reply.status);
    return new CommandError(
      `bucket "${this.bucket}" took no document for ${stuckAfterMs / 1_000} s: ${reason}`,
    );
  }

  /** Waits a moment, and reads the map again where a node is gone or a vbucket moved. */
  async reroute(status: number): Promise<void> {
    await realClock.sleep(retryPauseMs, this.signal);
    const isClosed = [...this.clients.values()].some((client) => client.isClosed);
    if (status !== Status.notMyVbucket && !isClosed) return;
    try {
      await this.route();
    } catch (error) {
      this.signal?.throwIfAborted();
      if (!(error instanceof CommandError || error instanceof DataPortError || error instanceof StatusError))
        throw error;
    }
  }

  private clientOf(vb: number): BucketClient {
    const client = this.clients.get(this.nodeOf(vb));
    if (client === undefined || client.isClosed)
      throw new CommandError(`the connection to bucket "${this.bucket}" was lost`);
    return client;
  }

  /** Reads which node has which vbucket, and connects to the nodes to which it has no connection. */
  private async route(): Promise<void> {
    const { bucket, node } = this;
    const config = (await node.get(urlPath`/pools/default/b/${bucket}`)) as BucketConfig;
    const { vBucketServerMap: map } = config;
    if (map === undefined)
      throw new CommandError(`bucket "${bucket}" is of a type whose documents this command does not reach`);
    const addresses = dataAddresses(config, node.address.authority !== undefined);
    const servers = map.vBucketMap.map(([active = -1]) => addresses[active]);
    const unserved = servers.indexOf(undefined);
    if (unserved >= 0)
      throw new CommandError(`bucket "${bucket}": no node serves vbucket ${unserved} at the moment`);
    for (const server of new Set(servers as string[])) {
      if (this.clients.get(server)?.isClosed === false) continue;
      const client = await BucketClient.open({
        address: addressOf(server, node.address),
        account: node.account,
        bucket,
      });
      this.clients.set(server, client);
    }
    this.byVbucket = servers as string[];
  }
}

function addressOf(server: string, rest: CommandTarget): WireAddress {
  const { host, port } = hostAndPortOf(server);
  return { host: reachedHost(host, rest.host), port, timeoutMs, tls: serverTls(rest.authority) };
}

/** Empty: the node does not have the vbucket. */
function historiesIn(figures: ReadonlyMap<string, string> | undefined, vb: number): VbucketHistories {
  const count = Number(figures?.get(`vb_${vb}:num_entries`) ?? 0);
  const figure = (index: number, name: string): string => figures?.get(`vb_${vb}:${index}:${name}`) ?? '';
  return Array.from({ length: count }, (_, index) => [figure(index, 'id'), Number(figure(index, 'seq'))]);
}

const mayRepeat = (status: number): boolean => isTransient(status) || status === Status.unknownCollection;

function explained(error: unknown, bucket: string): unknown {
  if (error instanceof StatusError)
    return new CommandError(`bucket "${bucket}": the data port answered ${statusName(error.status)}`);
  if (error instanceof DataPortError) return new CommandError(`bucket "${bucket}": ${error.message}`);
  return error;
}
