// Follows the changes of a bucket until it is stopped: reconnects, requests streams from the handler's positions, and calls the handler
// to undo changes that the server lost. The handler applies and stores changes.
import type { Clock } from '#ports/clock.ts';
import { untilAborted } from '#ports/within.ts';
import { EndReason } from '#wire/dcp.ts';
import { Status } from '#wire/status.ts';
import {
  ChangeConnection,
  type ChangeConnectionOptions,
  type ChangeHandler,
  type StreamPosition,
} from './change-connection.ts';
import { DataPortError, isTransient } from './data-port-error.ts';

export interface FollowerHandler extends ChangeHandler {
  /** The position from which to request the stream of a vbucket. */
  positionOf(vb: number): StreamPosition;
  /** The server lost the changes after this seqno. Once it resolves, `positionOf` must return no position above it. */
  rollback(vb: number, seqno: number): Promise<void> | void;
  /** The connection was lost or failed, and with it the streams of these vbuckets: each without a final end is requested again. */
  lost(reason: Error, vbuckets: readonly number[]): void;
}

/** Follows the changes of a bucket, on one node or on several. */
export interface BucketFollower {
  start(): void;
  /** Resolves after the last call of the handler. */
  stop(): Promise<void>;
  pause(): void;
  resume(): void;
}

export interface ChangeFollowerOptions extends Omit<ChangeConnectionOptions, 'handler'> {
  vbuckets: readonly number[];
  /** Where streams end; absent: never. */
  until?: 'latest';
  handler: FollowerHandler;
  clock: Clock;
}

const retryPauseMs = { first: 20, last: 5_000 } as const;

/** Stream ends that are final. After all others the stream is requested again. */
const finalEnds: ReadonlySet<number> = new Set([
  EndReason.finished,
  EndReason.filterEmpty,
  EndReason.lostPrivileges,
]);

interface RepeatedRequest {
  readonly seqno: number;
  /** The pause before the request. */
  readonly pauseMs: number;
  /** When the request was sent. */
  readonly atMs: number;
}

export class ChangeFollower implements BucketFollower {
  private readonly options: ChangeFollowerOptions;
  private readonly stopped = new AbortController();
  private readonly finished = new Set<number>();
  /** By vbucket: the last request after its stream had ended or was rolled back. */
  private readonly repeated = new Map<number, RepeatedRequest>();
  private readonly rollbacks = new Set<Promise<void>>();
  private connection: ChangeConnection | null = null;
  private running: Promise<void> | null = null;
  private isPaused = false;

  constructor(options: ChangeFollowerOptions) {
    this.options = options;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Resolves after the last call of the handler. */
  async stop(): Promise<void> {
    this.stopped.abort(new Error('the follower stops'));
    this.connection?.close();
    await this.running;
  }

  pause(): void {
    this.isPaused = true;
    this.connection?.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.connection?.resume();
  }

  private get isStopped(): boolean {
    return this.stopped.signal.aborted;
  }

  private async run(): Promise<void> {
    const { clock, handler } = this.options;
    let delayMs: number = retryPauseMs.first;
    while (!this.isStopped) {
      const startedMs = clock.monotonicMs();
      const reason = await this.follow();
      if (this.isStopped) return;
      handler.lost(reason, this.options.vbuckets);
      if (clock.monotonicMs() - startedMs > retryPauseMs.last) delayMs = retryPauseMs.first;
      await clock.sleep(delayMs, this.stopped.signal).catch(() => {}); // stopped: the loop sees it
      delayMs = Math.min(delayMs * 2, retryPauseMs.last);
    }
  }

  /** Resolves with the reason why the connection ended. */
  private async follow(): Promise<Error> {
    const { handler, vbuckets } = this.options;
    try {
      const opening = ChangeConnection.open({
        ...this.options,
        handler: {
          opened: (vb, failoverLog) => handler.opened(vb, failoverLog),
          change: (change) => handler.change(change),
          snapshot: (vb, start, end) => handler.snapshot(vb, start, end),
          advanced: (vb, seqno) => handler.advanced(vb, seqno),
          event: (event) => handler.event(event),
          drained: () => {
            if (!this.isStopped) handler.drained();
          },
          ended: (vb, reason) => this.ended(vb, reason),
        },
      });
      // A data port that does not answer must not delay a stop.
      const connection = await untilAborted(this.stopped.signal, opening, (late) => late.close());
      this.connection = connection;
      if (this.isStopped) connection.close();
      if (this.isPaused) connection.pause();
      const requests = vbuckets
        .filter((vb) => !this.finished.has(vb))
        .map((vb) => this.request(connection, vb));
      const failed = Promise.all(requests).then(
        () => connection.closed,
        (error: Error) => error,
      );
      const reason = await Promise.race([connection.closed, failed]);
      connection.close();
      await Promise.allSettled([...requests, ...this.rollbacks]);
      return reason;
    } catch (error) {
      return error as Error;
    } finally {
      this.connection = null;
    }
  }

  /** Resolves when the stream has started or cannot start. */
  private async request(connection: ChangeConnection, vb: number): Promise<void> {
    const { clock, handler, until } = this.options;
    while (!this.isStopped) {
      const from = handler.positionOf(vb);
      const reply = await connection.request(vb, until === undefined ? { from } : { from, until });
      if (reply.kind === 'open') return;
      if (reply.kind === 'rollback') {
        await this.rollBack(vb, reply.seqno);
        await this.pauseUnlessAdvanced(vb);
      } else if (reply.status === Status.unknownCollection || reply.status === Status.unknownScope)
        return this.finish(vb, EndReason.filterEmpty);
      else if (reply.status === Status.noAccess) return this.finish(vb, EndReason.lostPrivileges);
      else if (isTransient(reply.status)) await clock.sleep(retryPauseMs.first, this.stopped.signal);
      else
        throw new Error(`the stream of vbucket ${vb} was refused with status 0x${reply.status.toString(16)}`);
    }
  }

  /** The connection is not replaced, and the follower does not stop, before the handler is done. */
  private async rollBack(vb: number, seqno: number): Promise<void> {
    const rollback = Promise.resolve(this.options.handler.rollback(vb, seqno));
    this.rollbacks.add(rollback);
    try {
      await rollback;
    } finally {
      this.rollbacks.delete(rollback);
    }
  }

  private ended(vb: number, reason: EndReason): void {
    if (finalEnds.has(reason)) {
      this.finish(vb, reason);
      return;
    }
    const { connection } = this;
    if (connection === null || this.isStopped) return;
    // After a failed request the connection is replaced; the next one requests all streams.
    this.requestAgain(connection, vb).catch((error: Error) =>
      connection.close(new DataPortError(error.message, { cause: error })),
    );
  }

  private async requestAgain(connection: ChangeConnection, vb: number): Promise<void> {
    await this.pauseUnlessAdvanced(vb);
    await this.request(connection, vb);
  }

  /** Waits longer each time when a server ends a stream soon, or rolls it back to the same position again. */
  private async pauseUnlessAdvanced(vb: number): Promise<void> {
    const { clock, handler } = this.options;
    const { seqno } = handler.positionOf(vb);
    const last = this.repeated.get(vb);
    const nowMs = clock.monotonicMs();
    // A stream without changes may have run for days since.
    const isSame = last !== undefined && last.seqno === seqno && nowMs - last.atMs <= retryPauseMs.last;
    const pauseMs = isSame ? Math.min(Math.max(retryPauseMs.first, last.pauseMs * 2), retryPauseMs.last) : 0;
    this.repeated.set(vb, { seqno, pauseMs, atMs: nowMs + pauseMs });
    if (pauseMs > 0) await clock.sleep(pauseMs, this.stopped.signal);
  }

  private finish(vb: number, reason: EndReason): void {
    this.finished.add(vb);
    this.options.handler.ended(vb, reason);
  }
}
