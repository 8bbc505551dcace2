// A few threads for functions in JavaScript: each starts when it is first needed, runs one job at a time, and ends after a time
// without jobs. If a job does not react to its interruption, its thread is terminated. One user's jobs cannot take all threads.

import { type Deferred, deferred } from '#base/deferred.ts';
import { UserPlaces, UserQueue } from '#base/user-places.ts';
import type { Clock, Timer } from '#ports/clock.ts';
import {
  type JavaScriptJob,
  type JavaScriptReply,
  type JavaScriptStart,
  javaScriptLimits,
} from './javascript-messages.ts';

/** The part of a worker that is used here. */
export interface JavaScriptWorker {
  postMessage(message: JavaScriptStart | JavaScriptJob): void;
  on(event: 'message', listener: (reply: JavaScriptReply) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
  terminate(): Promise<unknown>;
}

export interface JavaScriptThreadsOptions {
  readonly startThread: () => JavaScriptWorker;
  readonly clock: Clock;
  /** The limit of threads. A few more may start for users without a running job. */
  readonly threadsMax: number;
}

export interface JavaScriptRun {
  readonly job: JavaScriptJob;
  /** Empty: the service itself. */
  readonly user: string;
  /** A call continues with the library that the thread has loaded, and its global variables, if the thread's last call had the same session. */
  readonly session?: string;
  readonly signal: AbortSignal;
}

/** How long a thread may take to react to an interruption. */
export const interruptionMs = 1_000;
/** How long a thread without a job is kept. */
const idleTimeoutMs = 30_000;
/** The limit of jobs that wait for a thread. */
const waitingMax = 100;
/** Threads in addition to their limit, for users without a running job. */
const spareThreads = 2;
/** Waiting jobs in addition to their limit, for users without a waiting one. */
const spareWaiting = 20;

/** Why a job has no reply. */
export class JavaScriptError extends Error {}

interface PendingRun extends JavaScriptRun {
  readonly reply: Deferred<JavaScriptReply>;
  stopListening: () => void;
}

class Thread {
  readonly worker: JavaScriptWorker;
  readonly interrupt = new Int32Array(new SharedArrayBuffer(4));
  running: PendingRun | null = null;
  /** The session whose library the thread has. */
  session: string | undefined;
  timer: Timer | null = null;

  constructor(worker: JavaScriptWorker) {
    this.worker = worker;
    worker.postMessage({ kind: 'start', interrupt: this.interrupt.buffer });
  }
}

export class JavaScriptThreads {
  private readonly options: JavaScriptThreadsOptions;
  private readonly threads = new Set<Thread>();
  /** A job has its place until its thread is free, even when its caller no longer waits. */
  private readonly places: UserPlaces;
  private readonly queue = new UserQueue<PendingRun>(() => ({ places: waitingMax, spare: spareWaiting }));
  private isStopped = false;

  constructor(options: JavaScriptThreadsOptions) {
    this.options = options;
    this.places = new UserPlaces(() => ({ places: options.threadsMax, spare: spareThreads }));
  }

  get count(): number {
    return this.threads.size;
  }

  /** Rejects with a JavaScriptError, or with the signal's reason. */
  run(run: JavaScriptRun): Promise<JavaScriptReply> {
    if (run.signal.aborted) return Promise.reject(run.signal.reason as Error);
    if (this.isStopped) return Promise.reject(new JavaScriptError('the query service stops'));
    if (!this.queue.mayAdd(run.user))
      return Promise.reject(new JavaScriptError(`more than ${waitingMax} calls wait for a thread`));
    const reply = deferred<JavaScriptReply>();
    const pending: PendingRun = { ...run, reply, stopListening: () => {} };
    const abort = (): void => this.end(pending, run.signal.reason as Error);
    run.signal.addEventListener('abort', abort, { once: true });
    pending.stopListening = () => run.signal.removeEventListener('abort', abort);
    this.queue.add(pending);
    this.next();
    return reply.promise;
  }

  stop(): void {
    this.isStopped = true;
    for (const waiting of this.queue.removeAll()) this.fail(waiting, 'the query service stops');
    for (const thread of this.threads) this.endThread(thread, 'the query service stops');
  }

  /** Gives waiting jobs to free threads. */
  private next(): void {
    let waiting = this.queue.shiftNext(this.places);
    while (waiting !== undefined) {
      this.begin(this.freeThread(waiting.session), waiting);
      waiting = this.queue.shiftNext(this.places);
    }
  }

  /** A thread that has the session's library, else any free one, else a new one. */
  private freeThread(session: string | undefined): Thread {
    const free = [...this.threads].filter(({ running }) => running === null);
    const fitting = free.find((thread) => session !== undefined && thread.session === session) ?? free[0];
    return fitting ?? this.start();
  }

  private start(): Thread {
    const thread = new Thread(this.options.startThread());
    this.threads.add(thread);
    thread.worker.on('message', (reply) => this.receive(thread, reply));
    thread.worker.on('error', (error) => this.endThread(thread, `its thread failed: ${error.message}`));
    thread.worker.on('exit', () => this.endThread(thread, 'its thread ended'));
    return thread;
  }

  private begin(thread: Thread, pending: PendingRun): void {
    const { job, session } = pending;
    thread.timer?.cancel();
    thread.running = pending;
    this.places.occupy(pending.user);
    Atomics.store(thread.interrupt, 0, 0);
    const hasLibrary = session !== undefined && thread.session === session;
    thread.session = session;
    thread.worker.postMessage(job.kind === 'call' && hasLibrary ? { ...job, library: null } : job);
    thread.timer = this.options.clock.after(javaScriptLimits.callMs, () =>
      this.end(
        pending,
        new JavaScriptError(`it ran for more than ${javaScriptLimits.callMs / 1000} seconds`),
      ),
    );
  }

  /** Ends a job early: its caller gets the reason at once, and its thread is free once it reacts to the interruption. */
  private end(pending: PendingRun, reason: Error): void {
    pending.stopListening();
    pending.reply.reject(reason);
    this.queue.remove(pending);
    for (const thread of this.threads) if (thread.running === pending) this.interrupt(thread);
  }

  private interrupt(thread: Thread): void {
    Atomics.store(thread.interrupt, 0, 1);
    thread.timer?.cancel();
    thread.timer = this.options.clock.after(interruptionMs, () =>
      this.endThread(thread, 'it could not be interrupted'),
    );
  }

  private receive(thread: Thread, reply: JavaScriptReply): void {
    const { running } = thread;
    if (running === null || !this.threads.has(thread)) return;
    if (reply.kind === 'broken') {
      this.endThread(thread, `the engine failed: ${reply.reason}`);
      return;
    }
    if (reply.kind !== 'returned') thread.session = undefined;
    running.stopListening();
    running.reply.resolve(reply);
    thread.running = null;
    this.places.release(running.user);
    thread.timer?.cancel();
    thread.timer = this.options.clock.after(idleTimeoutMs, () => this.endThread(thread, 'its thread ended'));
    this.next();
  }

  /** Ends a thread. Waiting jobs get another one. */
  private endThread(thread: Thread, reason: string): void {
    if (!this.threads.delete(thread)) return;
    thread.timer?.cancel();
    void thread.worker.terminate();
    if (thread.running !== null) {
      this.places.release(thread.running.user);
      this.fail(thread.running, reason);
    }
    if (!this.isStopped) this.next();
  }

  private fail(pending: PendingRun, reason: string): void {
    pending.stopListening();
    pending.reply.reject(new JavaScriptError(reason));
  }
}
