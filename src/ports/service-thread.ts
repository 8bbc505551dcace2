// A worker thread that serves the main thread: started on demand, restarted with growing pauses when it ends unexpectedly, and
// stopped in order. The thread answers the call `stop` with the message `stopped`; its messages `log` are logged here. Where it sent a
// `report` and ran for a while, the pauses begin anew.
import type { Worker, WorkerOptions } from 'node:worker_threads';
import { type Deferred, deferred } from '#base/deferred.ts';
import type { Clock } from './clock.ts';
import type { Log, LogMessage } from './log.ts';
import { atMost } from './within.ts';
import { startWorker } from './worker.ts';

const restartMs = { first: 100, most: 10_000 } as const;
/** A thread that ends sooner after its start may have the same end again, also where it has reported. */
const steadyMs = 10_000;
const stopTimeoutMs = 10_000;

/** Every thread accepts it; each service adds calls of its own. */
interface StopCall {
  readonly kind: 'stop';
}

export interface ServiceThreadOptions<Call, Message> {
  /** Begins the events of the log: `<area>.thread_failed`. */
  readonly area: string;
  /** The name of the thread in debuggers and in the metrics of the process. */
  readonly name: string;
  readonly module: URL;
  readonly resourceLimits?: WorkerOptions['resourceLimits'];
  readonly clock: Clock;
  readonly log: Log;
  /** Awaited before each start. */
  workerData(): Promise<unknown>;
  /** Called after each start: sends the thread its state. */
  started(): void;
  /** Called with every other message. `answer` reaches the thread that sent the message, and no thread that was started after it. */
  receive(message: Message, answer: (call: Call) => void): void;
  /** Called when the thread has ended, whether it failed (and will be restarted) or was stopped. */
  ended(): void;
}

export class ServiceThread<
  Call extends { readonly kind: string },
  Message extends { readonly kind: string },
> {
  private readonly options: ServiceThreadOptions<Call, Message>;
  private worker: Worker | null = null;
  private starting: Promise<void> | null = null;
  private restartInMs: number = restartMs.first;
  private startedAtMs = 0;
  private hasReported = false;
  private stopping: Deferred<void> | null = null;

  constructor(options: ServiceThreadOptions<Call, Message>) {
    this.options = options;
  }

  get isRunning(): boolean {
    return this.worker !== null;
  }

  get isStopping(): boolean {
    return this.stopping !== null;
  }

  /** Starts the thread unless it runs or is about to. */
  start(): void {
    if (this.worker !== null) return;
    this.starting ??= this.startWorker()
      .catch((error: Error) => {
        this.options.log.error(`${this.options.area}.thread_failed`, { reason: error.stack });
        this.restartLater();
      })
      .finally(() => {
        this.starting = null;
      });
  }

  /** Does nothing while the thread does not run: `started` sends it the state. */
  send(call: Call | StopCall): void {
    this.worker?.postMessage(call);
  }

  /** The thread stores its state first; if that takes longer than ten seconds, the thread is terminated all the same. */
  async stop(): Promise<void> {
    this.stopping ??= deferred<void>();
    await this.starting;
    const { worker } = this;
    if (worker === null) return;
    this.send({ kind: 'stop' });
    await atMost(this.options.clock, stopTimeoutMs, this.stopping.promise);
    await worker.terminate();
  }

  private async startWorker(): Promise<void> {
    const { area, name, module, resourceLimits, log } = this.options;
    const workerData = await this.options.workerData();
    if (this.isStopping) return;
    const limits = resourceLimits === undefined ? {} : { resourceLimits };
    const worker = startWorker(module, { name, workerData, ...limits });
    worker.on('message', (message: Message | LogMessage) =>
      this.receive(message, (call) => worker.postMessage(call)),
    );
    worker.on('error', (error) => log.error(`${area}.thread_failed`, { reason: error.stack }));
    worker.on('exit', () => this.ended(worker));
    this.worker = worker;
    this.startedAtMs = this.options.clock.monotonicMs();
    this.hasReported = false;
    this.options.started();
  }

  private receive(message: Message | LogMessage, answer: (call: Call) => void): void {
    if (isLog(message)) this.options.log[message.level](message.event, message.fields);
    else if (message.kind === 'stopped') this.stopping?.resolve();
    else {
      if (message.kind === 'report') this.hasReported = true;
      this.options.receive(message, answer);
    }
  }

  private ended(worker: Worker): void {
    if (this.worker !== worker) return;
    this.worker = null;
    this.stopping?.resolve();
    this.options.ended();
    const ranMs = this.options.clock.monotonicMs() - this.startedAtMs;
    if (this.hasReported && ranMs >= steadyMs) this.restartInMs = restartMs.first;
    this.restartLater();
  }

  private restartLater(): void {
    if (this.isStopping) return;
    this.options.log.warn(`${this.options.area}.thread_restarts`, { inMs: this.restartInMs });
    this.options.clock.after(this.restartInMs, () => {
      if (!this.isStopping) this.start();
    });
    this.restartInMs = Math.min(2 * this.restartInMs, restartMs.most);
  }
}

const isLog = (message: { readonly kind: string }): message is LogMessage => message.kind === 'log';
