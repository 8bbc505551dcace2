// The part of a bucket that one node serves: its streams, a limited number at once, are written to a data file.

import { type Deferred, deferred } from '#base/deferred.ts';
import { BucketClient } from '#client/bucket-client.ts';
import type { Change, CollectionEvent } from '#client/change.ts';
import { ChangeConnection, type ChangeHandler, type FailoverEntry } from '#client/change-connection.ts';
import { isTransient, StatusError } from '#client/data-port-error.ts';
import type { Clock } from '#ports/clock.ts';
import { DcpStreamRequest } from '#wire/commands/stream.ts';
import { EndReason } from '#wire/dcp.ts';
import { Datatype, Status } from '#wire/status.ts';
import type { DataWriter } from '../archive/data-file.adapter.ts';
import { BackupError } from '../format/backup-error.ts';
import { FrameBuffer, type FrameContent, FrameKind } from '../format/frame.ts';
import type { CapturedVbucket, CountedVbucket } from '../format/manifest.ts';
import type { DataRoute } from '../node/backup-node.ts';
import { VbucketCapture } from './vbucket-capture.ts';

/** For how long requests to a bucket that refuses them for a while are repeated, and the pause between them. */
const busyTimeoutMs = 30_000;
const retryPauseMs = 20;

export interface NodeCaptureOptions {
  bucket: string;
  writer: DataWriter;
  /** The vbuckets of the backup that this one continues, null for a full one. */
  previous: readonly CapturedVbucket[] | null;
  /** The vbuckets that are complete: what an interrupted attempt has captured, and this one before vbuckets moved. */
  completed: ReadonlyMap<number, CountedVbucket>;
  /** By vbucket, the uuid of the history that it had at the start of the backup. Added to. */
  histories: Map<number, bigint>;
  connectionName: string;
  clock: Clock;
  signal: AbortSignal;
  progress(documents: number): void;
}

const frameKinds = {
  mutation: FrameKind.mutation,
  deletion: FrameKind.deletion,
  expiration: FrameKind.expiration,
} as const;

/** A vbucket is at another node than the map of the capture says: what it has is captured there. */
export class MovedVbucketError extends BackupError {}

/** The part of a bucket that one node serves. */
export class NodeCapture implements ChangeHandler {
  readonly records = new Map<number, CountedVbucket>();
  /** Why vbuckets were not captured here, although no request failed. */
  moved: MovedVbucketError | null = null;
  private readonly route: DataRoute;
  private readonly options: NodeCaptureOptions;
  private readonly client: BucketClient;
  private streams: ChangeConnection | null = null;
  private targetSeqnos: ReadonlyMap<number, number> = new Map();
  private logs: Map<number, FailoverEntry[]> = new Map();
  /** The vbuckets whose streams are open or requested. */
  private readonly active = new Map<
    number,
    { capture: VbucketCapture; outcome: Deferred<'complete' | 'rollback'> }
  >();
  /** Used for each change again, so that no object is made for it. */
  private readonly content: FrameContent = {
    kind: 0,
    datatype: 0,
    collectionId: 0,
    casHi: 0,
    casLo: 0,
    rev: 0,
    seqno: 0,
    flags: 0,
    expiry: 0,
    key: Buffer.alloc(0),
    value: Buffer.alloc(0),
  };
  private failed: Error | null = null;
  private readonly cancelled = (): void => this.fail(this.options.signal.reason as Error);

  private constructor(route: DataRoute, options: NodeCaptureOptions, client: BucketClient) {
    this.route = route;
    this.options = options;
    this.client = client;
  }

  static async open(route: DataRoute, options: NodeCaptureOptions): Promise<NodeCapture> {
    const node = new NodeCapture(route, options, await BucketClient.open(route.options));
    try {
      node.streams = await ChangeConnection.open({
        ...route.options,
        name: options.connectionName,
        withXattrs: true,
        withDeletedXattrs: true,
        handler: node,
      });
      // Since the task looked last, before the connections were opened.
      options.signal.throwIfAborted();
    } catch (error) {
      node.close();
      throw error;
    }
    void node.streams.closed.then((reason) => node.fail(reason));
    options.signal.addEventListener('abort', node.cancelled, { once: true });
    return node;
  }

  close(): void {
    this.fail(new Error('the capture ended'));
    this.options.signal.removeEventListener('abort', this.cancelled);
    this.client.close();
    this.streams?.close();
  }

  async readTargets(): Promise<void> {
    this.targetSeqnos = await this.retryWhileBusy(() => this.client.highSeqnosOf(this.route.vbuckets));
    this.logs = await this.readLogs();
    const { histories } = this.options;
    for (const [vb, log] of this.logs) {
      const first = histories.get(vb);
      if (first === undefined) histories.set(vb, log[0]?.uuid ?? 0n);
      else if (!log.some(({ uuid }) => uuid === first)) throw this.flushed(vb);
    }
  }

  async run(streams: number): Promise<void> {
    const waiting = [...this.route.vbuckets];
    const worker = async (): Promise<void> => {
      const frames = new FrameBuffer();
      for (let vb = waiting.shift(); vb !== undefined; vb = waiting.shift())
        await this.captureVbucket(vb, frames).catch((error: Error) => this.noteIfMoved(error));
    };
    await Promise.all(Array.from({ length: streams }, worker));
  }

  private noteIfMoved(error: Error): void {
    if (!(error instanceof MovedVbucketError)) throw error;
    this.moved = error;
  }

  private readLogs(): Promise<Map<number, FailoverEntry[]>> {
    return this.retryWhileBusy(() => this.client.failoverLogs(this.route.vbuckets));
  }

  /** Reads the failover logs over a new connection. Null: the bucket was not flushed since the start, or its node does not answer. */
  async findFlush(): Promise<BackupError | null> {
    if (this.options.signal.aborted) return null;
    const read = async (): Promise<Map<number, FailoverEntry[]>> => {
      const client = await BucketClient.open(this.route.options);
      try {
        return await client.failoverLogs(this.route.vbuckets);
      } finally {
        client.close();
      }
    };
    const logs = await this.retryWhileBusy(read, () => false).catch(() => new Map<number, FailoverEntry[]>());
    const flushed = [...logs].find(([vb, log]) => this.logs.has(vb) && this.hasLostHistory(vb, log));
    return flushed === undefined ? null : this.flushed(flushed[0]);
  }

  /** A bucket that warms up or is flushed refuses requests for a while. */
  private async retryWhileBusy<T>(
    request: () => Promise<T>,
    isOver = () => this.failed !== null,
  ): Promise<T> {
    const { clock, signal } = this.options;
    const deadlineMs = clock.monotonicMs() + busyTimeoutMs;
    for (;;) {
      try {
        return await request();
      } catch (error) {
        if (error instanceof StatusError && error.status === Status.notMyVbucket)
          throw new MovedVbucketError('vbuckets move between nodes');
        const isBusy = error instanceof StatusError && isTransient(error.status);
        if (!isBusy || isOver() || clock.monotonicMs() >= deadlineMs) throw error;
        await clock.sleep(retryPauseMs, signal);
      }
    }
  }

  /** @throws BackupError when the bucket was flushed, or lost captured changes in a failover, since the start */
  async checkHistories(): Promise<void> {
    const logs = await this.readLogs();
    for (const [vb, log] of logs) {
      if (this.hasLostHistory(vb, log)) throw this.flushed(vb);
      if (!isPartOf(this.records.get(vb) as CountedVbucket, log)) throw lostChanges(vb);
    }
  }

  private async captureVbucket(vb: number, frames: FrameBuffer): Promise<void> {
    const log = this.logs.get(vb) as FailoverEntry[];
    const completed = this.options.completed.get(vb);
    if (completed !== undefined && isPartOf(completed, log)) {
      this.records.set(vb, completed);
      return;
    }
    const previous = this.options.previous?.[vb];
    const from = previous !== undefined && isPartOf(previous, log) ? previous.to : 0;
    if (from === this.targetSeqnos.get(vb)) {
      this.recordUnchanged(vb, from, frames);
      return;
    }
    if (previous !== undefined && from > 0) {
      if (await this.stream(vb, { uuid: BigInt(previous.uuid), seqno: previous.to }, frames)) return;
    }
    if (await this.stream(vb, { uuid: 0n, seqno: 0 }, frames)) return;
    throw new BackupError(`vbucket ${vb} has no stream from its start`);
  }

  /** Records the vbucket without opening a stream: it has no changes after `from`. */
  private recordUnchanged(vb: number, from: number, frames: FrameBuffer): void {
    const capture = new VbucketCapture(vb, { from, target: from }, this.options.writer, frames);
    capture.opened(this.logs.get(vb) as FailoverEntry[]);
    this.records.set(vb, capture.finish());
    this.options.progress(0);
  }

  /** Resolves with false if the node no longer has all changes since the position. */
  private async stream(vb: number, from: FailoverEntry, frames: FrameBuffer): Promise<boolean> {
    if (this.failed !== null) throw this.failed;
    const connection = this.streams as ChangeConnection;
    const bounds = { from: from.seqno, target: this.targetSeqnos.get(vb) as number };
    const capture = new VbucketCapture(vb, bounds, this.options.writer, frames);
    const outcome = deferred<'complete' | 'rollback'>();
    outcome.promise.catch(() => {}); // awaited below, unless the request fails first
    this.active.set(vb, { capture, outcome });
    try {
      const position = { ...from, snapshotStart: from.seqno, snapshotEnd: from.seqno };
      const reply = await this.retryWhileBusy(async () => {
        const answer = await connection.request(vb, { from: position });
        if (answer.kind === 'refused') throw new StatusError(DcpStreamRequest.opcode, answer.status);
        return answer;
      });
      if (reply.kind === 'rollback' || (await outcome.promise) === 'rollback') return false;
    } finally {
      this.active.delete(vb);
    }
    this.records.set(vb, capture.finish());
    this.options.progress(capture.documents + capture.deletions);
    // Not awaited, so that the next stream can be requested at once. If the connection ends, `fail` has the reason.
    connection.closeStream(vb).catch(() => {});
    return true;
  }

  private fail(reason: Error): void {
    if (this.failed !== null) return;
    this.failed = reason;
    for (const { outcome } of this.active.values()) outcome.reject(reason);
    this.streams?.close();
  }

  private hasOtherHistory(vb: number, log: readonly FailoverEntry[]): boolean {
    return log[0]?.uuid !== this.logs.get(vb)?.[0]?.uuid;
  }

  private hasLostHistory(vb: number, log: readonly FailoverEntry[]): boolean {
    const former = this.logs.get(vb)?.[0]?.uuid;
    return !log.some(({ uuid }) => uuid === former);
  }

  private flushed(vb: number): BackupError {
    return new BackupError(
      `bucket "${this.options.bucket}" was flushed, or lost its documents with a node, during the backup: vbucket ${vb} has another history`,
    );
  }

  opened(vb: number, log: readonly FailoverEntry[]): void {
    if (this.hasLostHistory(vb, log)) {
      this.fail(this.flushed(vb));
      return;
    }
    const active = this.active.get(vb);
    // The seqnos of the start belong to the history of the start: in another one the stream might never reach them.
    if (this.hasOtherHistory(vb, log)) {
      this.active.delete(vb);
      active?.outcome.reject(lostChanges(vb));
      return;
    }
    active?.capture.opened(log);
    this.resolveIfComplete(vb);
  }

  snapshot(vb: number, _start: number, end: number): void {
    this.captureOf(vb)?.snapshot(end);
  }

  change(change: Change): void {
    const capture = this.captureOf(change.vb);
    if (capture === undefined) return;
    const { content } = this;
    const hasXattrs = change.bodyStart > change.xattrsStart;
    content.kind = frameKinds[change.kind];
    content.datatype = (change.isJson ? Datatype.json : 0) | (hasXattrs ? Datatype.xattr : 0);
    content.collectionId = change.collectionId;
    content.casHi = change.casHi;
    content.casLo = change.casLo;
    content.rev = change.rev;
    content.seqno = change.seqno;
    content.flags = change.flags;
    content.expiry = change.expiry;
    content.key = change.keyBytes;
    content.value = change.buffer.subarray(change.xattrsStart, change.end);
    this.failOnError(() => capture.document(content));
    this.resolveIfComplete(change.vb);
  }

  advanced(vb: number, seqno: number): void {
    this.captureOf(vb)?.advance(seqno);
    this.resolveIfComplete(vb);
  }

  event({ vb, seqno }: CollectionEvent): void {
    this.advanced(vb, seqno);
  }

  ended(vb: number, reason: EndReason): void {
    const active = this.active.get(vb);
    if (active === undefined || active.capture.isComplete) return;
    if (reason === EndReason.rollback) active.outcome.resolve('rollback');
    else active.outcome.reject(endedError(vb, reason));
  }

  drained(): void {}

  /** Undefined once the vbucket is complete: later changes are not in the backup. */
  private captureOf(vb: number): VbucketCapture | undefined {
    const capture = this.active.get(vb)?.capture;
    return capture?.isComplete ? undefined : capture;
  }

  /** An error of the disk ends the capture; handlers must not throw. */
  private failOnError(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private resolveIfComplete(vb: number): void {
    const active = this.active.get(vb);
    if (active?.capture.isComplete) active.outcome.resolve('complete');
  }
}

/** Whether the node still has the history up to the end of the record. */
function isPartOf({ uuid, to }: CapturedVbucket, log: readonly FailoverEntry[]): boolean {
  const index = log.findIndex((entry) => entry.uuid.toString() === uuid);
  if (index < 0) return false;
  // The history ended where the newer one began.
  return index === 0 || to <= (log[index - 1] as FailoverEntry).seqno;
}

const lostChanges = (vb: number): BackupError =>
  new MovedVbucketError(`vbucket ${vb} was taken over by another node during the backup`);

function endedError(vb: number, reason: EndReason): BackupError {
  const text = `the node ended the stream of vbucket ${vb}: ${reasonOf(reason)}`;
  return reason === EndReason.stateChanged ? new MovedVbucketError(text) : new BackupError(text);
}

function reasonOf(reason: EndReason): string {
  if (reason === EndReason.stateChanged) return 'the bucket was deleted or flushed, or the vbucket moved';
  if (reason === EndReason.lostPrivileges) return 'the user lost the privilege to read it';
  return Object.entries(EndReason).find(([, code]) => code === reason)?.[0] ?? String(reason);
}
