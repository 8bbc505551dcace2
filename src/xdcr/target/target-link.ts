// The connections to the nodes that serve the target bucket. A version goes to the node that serves its vbucket; one that the target
// cannot take now is sent again after a growing pause, and one that it can never take is left out. Any other failure ends the link, and
// its owner opens another one.
import { isTransient, statusName } from '#client/data-port-error.ts';
import type { ReachedPosition } from '#client/reached-position.ts';
import type { Clock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import type { ReplicationCounts } from '../replication-counts.ts';
import type { ConflictResolution, DataPathSettings, TargetAccess } from '../xdcr.contract.ts';
import { AcknowledgedPositions } from './acknowledged-positions.ts';
import type { OutgoingVersion } from './outgoing.ts';
import { SendLimit } from './send-limit.ts';
import { TargetConnection } from './target-connection.ts';
import type { TargetMap } from './target-map.ts';

export interface LinkOptions {
  readonly access: TargetAccess;
  readonly bucket: string;
  readonly rule: ConflictResolution;
  readonly settings: DataPathSettings;
  readonly counts: ReplicationCounts;
  readonly clock: Clock;
  /** Nodes of the source that share the network limit. */
  readonly senders: number;
  /** The share of the documents that a connection may have in flight; 1: all. */
  readonly share: () => number;
  readonly readMap: () => Promise<TargetMap>;
  /** The collection of this version is not at the target any more. */
  readonly collectionLost: (outgoing: OutgoingVersion) => void;
  /** The target has refused a version with this status for seconds; it is sent again all the same. */
  readonly heldUp: (status: number) => void;
  /** The target would refuse this version at each attempt. Its `done` is called after this. */
  readonly leftOut: (outgoing: OutgoingVersion, status: number) => void;
  readonly failed: (reason: Error) => void;
}

const timeoutMs = 30_000;
const connectTimeoutMs = 5_000;
const retryPauseMs = { first: 10, most: 1_000 } as const;
/** About two seconds; then the owner of the link reports that the target takes nothing. */
const attemptsUntilHeldUp = 8;
/** About half a minute; then the link ends, and its owner reports why. */
const attemptsMax = 40;
const bytesPerMegabyte = 1 << 20;

/** Statuses that a later attempt may not get, besides those that every client retries. */
const retriedStatuses: ReadonlySet<number> = new Set([
  Status.locked,
  Status.noAccess,
  Status.rateLimitedIngress,
  Status.rateLimitedEgress,
]);
/** Statuses that refuse one document for what it is: its size, its attributes, its CAS. */
const documentStatuses: ReadonlySet<number> = new Set([
  Status.tooBig,
  Status.xattrInvalid,
  Status.casValueInvalid,
]);
/** Statuses of writes that the target refuses because of a limit of its bucket, with the counter of each. */
const guardrailCounters: ReadonlyMap<number, string> = new Map([
  [0x36, 'guardrail_resident_ratio'],
  [0x37, 'guardrail_data_size'],
  [0x38, 'guardrail_disk_space'],
]);

export interface TargetPosition {
  /** The failover log, newest entry first. */
  readonly log: readonly { uuid: bigint; seqno: number }[];
  /** The seqno of the newest change. */
  readonly high: number;
}

export class TargetLink {
  map: TargetMap;
  private readonly options: LinkOptions;
  private readonly connections = new Map<string, TargetConnection>();
  private readonly acknowledgedPositions = new AcknowledgedPositions();
  private readonly limit: SendLimit;
  /** Versions that earlier links of the replication wrote. */
  private readonly writtenBefore: number;
  private refreshing: Promise<void> | null = null;
  private isClosed = false;

  private constructor(options: LinkOptions, map: TargetMap) {
    this.options = options;
    this.map = map;
    const { settings, senders, clock, counts } = options;
    this.writtenBefore = counts.get('docs_written');
    this.limit = new SendLimit((settings.networkUsageLimit * bytesPerMegabyte) / senders, clock);
  }

  /** @throws Error when the target, or a node of it, cannot be reached */
  static async open(options: LinkOptions): Promise<TargetLink> {
    const link = new TargetLink(options, await options.readMap());
    try {
      await Promise.all(link.nodes().map((node) => link.connectionTo(node, 0).ready));
      return link;
    } catch (error) {
      link.close();
      throw error;
    }
  }

  get queued(): { items: number; bytes: number } {
    const connections = [...this.connections.values()];
    return {
      items: connections.reduce((sum, { queued }) => sum + queued, 0),
      bytes: connections.reduce((sum, { queuedBytes }) => sum + queuedBytes, 0),
    };
  }

  /** How many versions all connections may have in flight. */
  get inFlightMax(): number {
    const { targetNozzlePerNode, workerBatchSize } = this.options.settings;
    return this.nodes().length * targetNozzlePerNode * workerBatchSize;
  }

  send(outgoing: OutgoingVersion): void {
    if (this.isClosed) return;
    const node = this.map.actives[outgoing.vb] ?? -1;
    if (node < 0) this.refused(outgoing, Status.notMyVbucket);
    else this.connectionTo(node, outgoing.vb % this.options.settings.targetNozzlePerNode).send(outgoing);
  }

  /**
   * What the target has of these vbuckets; the result lacks those that have no active now, or whose active is another node than in the map: a
   * node that has only a copy of a vbucket reports its failover log, but no seqno.
   */
  async positions(vbuckets: readonly number[]): Promise<Map<number, TargetPosition>> {
    const found = new Map<number, TargetPosition>();
    const { actives } = this.map;
    await Promise.all(
      this.nodes().map(async (node) => {
        const client = await this.connectionTo(node, 0).ready;
        const highs = await client.activeSeqnos();
        const own = vbuckets.filter((vb) => actives[vb] === node && highs.has(vb));
        for (const [vb, log] of await client.failoverLogs(own))
          found.set(vb, { log, high: highs.get(vb) ?? 0 });
      }),
    );
    // Nothing is sent to a vbucket without a position, so no refusal renews the map once it has an active. If this read fails, the next call repeats it.
    if (found.size < vbuckets.length) this.refreshMap(() => {});
    return found;
  }

  /** Up to where the target has acknowledged writes of this link to the vbucket; undefined: none. */
  acknowledged(vb: number): ReachedPosition | undefined {
    return this.acknowledgedPositions.get(vb);
  }

  /** Scopes and collections of the target, as JSON text. */
  async manifest(): Promise<string> {
    const [node] = this.nodes();
    if (node === undefined) throw new Error('no node of the target serves the bucket');
    return (await this.connectionTo(node, 0).ready).manifest();
  }

  close(): void {
    this.isClosed = true;
    for (const connection of this.connections.values()) connection.close();
    this.connections.clear();
  }

  private nodes(): number[] {
    return [...new Set(this.map.actives)].filter((node) => node >= 0);
  }

  private connectionTo(node: number, index: number): TargetConnection {
    const { host, port } = this.map.nodes[node] ?? { host: '', port: 0 };
    const name = `${host}:${port} ${index}`;
    const existing = this.connections.get(name);
    if (existing !== undefined) return existing;
    const { access, failed } = this.options;
    const { username, password, authority, encryptsData, clientCertificate } = access;
    const tls = encryptsData && authority !== undefined ? { authority, clientCertificate } : undefined;
    const connection = new TargetConnection({
      ...this.options,
      address: { host, port, timeoutMs, connectTimeoutMs, ...(tls !== undefined && { tls }) },
      account: { username, password, scram: tls === undefined },
      limit: this.limit,
      acknowledged: this.acknowledgedPositions,
      refused: (outgoing, status) => this.refused(outgoing, status),
      failed: (reason) => {
        if (!this.isClosed) failed(new Error(`${host}:${port}: ${reason.message}`, { cause: reason }));
      },
    });
    this.connections.set(name, connection);
    return connection;
  }

  private refused(outgoing: OutgoingVersion, status: number): void {
    if (this.isClosed) return;
    this.count(status);
    if (status === Status.unknownCollection) {
      this.options.collectionLost(outgoing);
      return;
    }
    if (this.isRefusedForGood(status)) {
      this.options.counts.add('docs_refused');
      this.options.leftOut(outgoing, status);
      outgoing.done();
      return;
    }
    const mayRetry =
      isTransient(status) ||
      retriedStatuses.has(status) ||
      guardrailCounters.has(status) ||
      status === Status.invalidArguments;
    outgoing.attempts++;
    if (!mayRetry || outgoing.attempts > attemptsMax) {
      this.options.failed(new Error(`the target refused a document with status ${statusName(status)}`));
      return;
    }
    if (status === Status.notMyVbucket) this.refreshMap(this.options.failed);
    if (outgoing.attempts === attemptsUntilHeldUp) this.options.heldUp(status);
    const delayMs = Math.min(retryPauseMs.first * 2 ** Math.min(outgoing.attempts, 10), retryPauseMs.most);
    this.options.clock.after(delayMs, () => this.send(outgoing));
  }

  /**
   * A bucket with another conflict resolution refuses all versions as invalid, so such a status says something about the one version only
   * if the target takes others.
   */
  private isRefusedForGood(status: number): boolean {
    const takesOthers = this.options.counts.get('docs_written') > this.writtenBefore;
    return documentStatuses.has(status) || (status === Status.invalidArguments && takesOthers);
  }

  private count(status: number): void {
    const { counts } = this.options;
    const guardrail = guardrailCounters.get(status);
    if (guardrail !== undefined) counts.add(guardrail);
    else if (status === Status.noAccess) counts.add('target_eaccess');
    else if (status === Status.temporaryFailure || status === Status.outOfMemory)
      counts.add('target_tmpfail');
    else if (!isTransient(status) && status !== Status.unknownCollection) counts.add('target_unknown_status');
  }

  /** Only one read of the map runs at a time: it serves all versions that were refused meanwhile. */
  private refreshMap(failed: (reason: Error) => void): void {
    this.refreshing ??= this.options
      .readMap()
      .then(
        (map) => {
          this.map = map;
        },
        (reason: Error) => {
          if (!this.isClosed) failed(reason);
        },
      )
      .finally(() => {
        this.refreshing = null;
      });
  }
}
