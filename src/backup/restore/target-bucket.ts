// A bucket that a restore writes to: connections to all its nodes, and a bounded number of writes in flight.
import { type Deferred, deferred } from '#base/deferred.ts';
import { BucketClient } from '#client/bucket-client.ts';
import { isTransient, StatusError, statusName } from '#client/data-port-error.ts';
import { documentKeyOfBytes, vbucketCount } from '#client/document-key.ts';
import type { Clock } from '#ports/clock.ts';
import { DeleteWithMeta, SetWithMeta } from '#wire/commands/documents.ts';
import { responseStatus } from '#wire/frame.ts';
import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { WithMetaOption, withMetaExtras } from '#wire/with-meta.ts';
import { BackupError } from '../format/backup-error.ts';
import { type Frame, FrameKind } from '../format/frame.ts';
import type { BackupNode, NodeBucket } from '../node/backup-node.ts';
import { SentValues, type ValueBuffer } from './sent-values.ts';
import { untilPersisted } from './until-persisted.ts';

const inFlightMax = 1_024;
/** The most bytes of buffers with values in flight. */
const bytesInFlightMax = 8 << 20;
const bufferBytes = 256 << 10;
const openTimeoutMs = 30_000;
/** A restore ends if the bucket refuses one write for this long. */
const stuckAfterMs = 20_000;
const retryPauseMs = 20;

export interface TargetOptions {
  node: BackupNode;
  clock: Clock;
  bucket: NodeBucket;
  /** The versions of the backup replace newer ones. */
  isForced: boolean;
  signal: AbortSignal;
}

/** A write in flight. */
interface SentWrite {
  readonly vb: number;
  readonly request: RequestParts;
  readonly buffer: ValueBuffer;
  /** When the bucket first refused the write; 0 before that. */
  refusedMs: number;
}

export class TargetBucket {
  /** Versions that conflict resolution refused: the bucket has them, or newer ones. */
  skipped = 0;
  written = 0;
  private readonly options: TargetOptions;
  private readonly clients: readonly BucketClient[];
  private readonly byVbucket: readonly BucketClient[];
  private readonly requestOptions: number;
  private inFlight = 0;
  private readonly values = new SentValues(bufferBytes);
  /** What the caller of `write` or `drain` awaits until fewer writes are in flight; null: nothing is awaited. */
  private room: Deferred<void> | null = null;
  private failed: Error | null = null;

  private constructor(options: TargetOptions, clients: readonly BucketClient[], byVbucket: BucketClient[]) {
    this.options = options;
    this.clients = clients;
    this.byVbucket = byVbucket;
    const isLastWriteWins = options.bucket.settings['conflictResolutionType'] === 'lww';
    this.requestOptions =
      (isLastWriteWins ? WithMetaOption.acceptsLastWrite : 0) |
      (options.isForced ? WithMetaOption.skipsResolution : 0);
  }

  /** Waits for the data service to open a new bucket. */
  static async open(options: TargetOptions): Promise<TargetBucket> {
    const { clock, signal } = options;
    const deadlineMs = clock.monotonicMs() + openTimeoutMs;
    for (;;) {
      try {
        return await TargetBucket.connect(options);
      } catch (error) {
        if (error instanceof StatusError && error.status === Status.noAccess) await checkRights(options);
        const isStarting =
          error instanceof BackupError || (error instanceof StatusError && isOpening(error.status));
        if (!isStarting || clock.monotonicMs() >= deadlineMs) throw error;
        await clock.sleep(retryPauseMs, signal);
      }
    }
  }

  private static async connect(options: TargetOptions): Promise<TargetBucket> {
    const routes = await options.node.routes(options.bucket.name);
    const byVbucket = new Array<BucketClient>(vbucketCount);
    const clients: BucketClient[] = [];
    try {
      for (const route of routes) {
        const client = await BucketClient.open(route.options);
        clients.push(client);
        for (const vb of route.vbuckets) byVbucket[vb] = client;
      }
    } catch (error) {
      for (const client of clients) client.close();
      throw error;
    }
    return new TargetBucket(options, clients, byVbucket);
  }

  get name(): string {
    return this.options.bucket.name;
  }

  get uuid(): string {
    return this.options.bucket.uuid;
  }

  /** The uuid of the newest history of every vbucket. */
  async uuids(): Promise<BigUint64Array> {
    const all = new Map<BucketClient, BigUint64Array>();
    for (const client of this.clients) all.set(client, await client.uuids());
    return BigUint64Array.from(
      { length: vbucketCount },
      (_, vb) => valueOfVbucket(all, this.byVbucket[vb], vb) ?? 0n,
    );
  }

  /** The seqno of the newest change of every vbucket. */
  async highSeqnos(): Promise<Float64Array> {
    const all = new Map<BucketClient, Float64Array>();
    for (const client of this.clients) all.set(client, await client.highSeqnos());
    return Float64Array.from(
      { length: vbucketCount },
      (_, vb) => valueOfVbucket(all, this.byVbucket[vb], vb) ?? 0,
    );
  }

  async failoverLogs(
    vbuckets: readonly number[],
  ): Promise<ReadonlyMap<number, { uuid: bigint; seqno: number }[]>> {
    const own = (client: BucketClient) => vbuckets.filter((vb) => this.byVbucket[vb] === client);
    const logs = await Promise.all(this.clients.map((client) => client.failoverLogs(own(client))));
    return new Map(logs.flatMap((log) => [...log]));
  }

  /**
   * Sends a version. Returns null when there is room for the next one, otherwise a promise of room: a promise per document would take a
   * fifth of the time of a restore. @throws BackupError after a write that failed
   */
  write(vb: number, frame: Frame, collectionId: number): Promise<void> | null {
    if (this.failed !== null) throw this.failed;
    const buffer = this.values.add(frame.value);
    const value = buffer.bytes.subarray(buffer.end - frame.value.length, buffer.end);
    this.inFlight++;
    this.send({ vb, request: this.requestOf(vb, frame, collectionId, value), buffer, refusedMs: 0 });
    // Once a write has failed, no reply makes room.
    if (this.failed !== null) throw this.failed;
    if (this.inFlight < inFlightMax && this.values.heldBytes < bytesInFlightMax) return null;
    this.room = deferred();
    return this.room.promise;
  }

  /** Resolves when all writes are acknowledged. */
  async drain(): Promise<void> {
    while (this.inFlight > 0 && this.failed === null) {
      this.room = deferred();
      await this.room.promise;
    }
    if (this.failed !== null) throw this.failed;
  }

  /** Resolves when all written versions are on disk. */
  async untilPersisted(): Promise<void> {
    if (this.options.bucket.settings['bucketType'] === 'ephemeral') return;
    const written = await Promise.all(this.clients.map((client) => client.highSeqnos()));
    await untilPersisted(this.name, () => this.unpersisted(written), this.options);
  }

  /** How many changes are not on disk yet. */
  private async unpersisted(written: readonly Float64Array[]): Promise<number> {
    let changes = 0;
    for (const [index, client] of this.clients.entries()) {
      const figures = await client.stats('vbucket-seqno');
      for (const [vb, seqno] of (written[index] as Float64Array).entries())
        changes += Math.max(0, seqno - Number(figures.get(`vb_${vb}:last_persisted_seqno`) ?? seqno));
    }
    return changes;
  }

  close(): void {
    this.fail(new Error('the restore ended'));
    for (const client of this.clients) client.close();
  }

  private requestOf(vb: number, frame: Frame, collectionId: number, value: Buffer): RequestParts {
    const { isDeletion, kind, flags, expiry, rev, casHi, casLo, datatype } = frame;
    const meta = { flags, expiry: isDeletion ? 0 : expiry, rev, casHi, casLo };
    const kindOption = kind === FrameKind.expiration ? WithMetaOption.isExpiration : 0;
    const extras = withMetaExtras(meta, this.requestOptions | kindOption);
    const opcode = isDeletion ? DeleteWithMeta.opcode : SetWithMeta.opcode;
    return { opcode, vb, extras, key: documentKeyOfBytes(collectionId, frame.key), value, datatype };
  }

  private send(write: SentWrite): void {
    const { connection } = this.byVbucket[write.vb] as BucketClient;
    connection.send(write.request, (reply) => {
      if (reply === null) this.fail(new BackupError(`the connection to bucket "${this.name}" was lost`));
      else this.replied(write, responseStatus(reply));
      return true;
    });
  }

  private replied(write: SentWrite, status: number): void {
    if (status === Status.success) this.written++;
    else if (status === Status.keyExists) this.skipped++;
    else if (this.mayRetry(write, status)) {
      this.retry(write);
      return;
    } else {
      this.fail(new BackupError(this.problemOf(status)));
      return;
    }
    this.inFlight--;
    this.values.release(write.buffer);
    if (this.inFlight <= inFlightMax / 2 && this.values.heldBytes <= bytesInFlightMax / 2) this.releaseRoom();
  }

  private mayRetry({ refusedMs }: SentWrite, status: number): boolean {
    // The node may not know a new collection yet.
    const isTemporary = isTransient(status) || status === Status.unknownCollection;
    if (status === Status.notMyVbucket || !isTemporary || this.failed !== null) return false;
    const limitMs = status === Status.unknownCollection ? openTimeoutMs / 3 : stuckAfterMs;
    return refusedMs === 0 || this.options.clock.monotonicMs() - refusedMs < limitMs;
  }

  private retry(write: SentWrite): void {
    const { clock } = this.options;
    if (write.refusedMs === 0) write.refusedMs = clock.monotonicMs();
    clock.after(retryPauseMs, () => {
      if (this.failed === null) this.send(write);
    });
  }

  private problemOf(status: number): string {
    const start = `bucket "${this.name}" refused a document`;
    if (status === Status.notMyVbucket)
      return `${start}: vbuckets move between nodes; repeat the restore after the rebalance`;
    if (status === Status.noAccess) return `${start}: ${missingRole}`;
    if (status === Status.unknownCollection) return `${start}: its collection was dropped during the restore`;
    if (status === Status.outOfMemory || status === Status.temporaryFailure)
      return `${start} for ${stuckAfterMs / 1_000} s: it has no memory left; raise its quota`;
    return `${start}: status ${statusName(status)}`;
  }

  private fail(reason: Error): void {
    this.failed ??= reason;
    this.releaseRoom();
  }

  private releaseRoom(): void {
    this.room?.resolve();
    this.room = null;
  }
}

const valueOfVbucket = <T>(
  all: ReadonlyMap<BucketClient, ArrayLike<T>>,
  client: BucketClient | undefined,
  vb: number,
): T | undefined => (client === undefined ? undefined : all.get(client)?.[vb]);

const missingRole = 'the user may not write metadata (role data_backup)';

/** Asks the REST API for the rights: the data port answers noAccess also for a bucket that it does not know yet. */
async function checkRights({ node, bucket: { name } }: TargetOptions): Promise<void> {
  if (!(await node.mayWriteMetadata(name))) throw new BackupError(`bucket "${name}": ${missingRole}`);
}

const isOpening = (status: number): boolean =>
  status === Status.noBucket || status === Status.noAccess || isTransient(status);
