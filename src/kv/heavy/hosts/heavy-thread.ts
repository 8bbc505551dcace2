// Heavy work in a thread of its own, which starts with the first job and ends after a time without jobs.
import type { Worker } from 'node:worker_threads';
import { type Deferred, deferred } from '#base/deferred.ts';
import type { Clock, Timer } from '#ports/clock.ts';
import { codeFile } from '#ports/code-place.ts';
import { startWorker } from '#ports/worker.ts';
import type { HeavyPerformer } from '../heavy-queue.ts';
import type { HeavyJob, HeavyResult } from '../jobs.ts';
import { type HeavyReply, withBuffers } from './messages.ts';

const idleTimeoutMs = 30_000;

export class HeavyThread implements HeavyPerformer {
  private readonly clock: Clock;
  private worker: Worker | null = null;
  private answer: Deferred<HeavyResult> | null = null;
  private idle: Timer | null = null;
  private isStopped = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Performs one job at a time: call it again only after the last job has ended, as `HeavyQueue` does. */
  perform(job: HeavyJob): Promise<HeavyResult> {
    if (this.isStopped) return Promise.reject(new Error('the data service is stopping'));
    this.idle?.cancel();
    this.worker ??= this.start();
    // Throws for a job that cannot be copied; then there is no answer to wait for.
    this.worker.postMessage(job);
    this.answer = deferred<HeavyResult>();
    return this.answer.promise;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.end();
  }

  private start(): Worker {
    const worker = startWorker(codeFile('kv/heavy/hosts/heavy-worker'), {
      name: 'heavy work',
    });
    worker.on('message', (reply: HeavyReply) => this.receive(reply));
    worker.on('error', (error) => this.fail(worker, error.message));
    worker.on('exit', () => this.fail(worker, 'it ended'));
    return worker;
  }

  private receive(reply: HeavyReply): void {
    const { answer } = this;
    this.answer = null;
    this.idle?.cancel();
    this.idle = this.clock.after(idleTimeoutMs, () => void this.end());
    if ('result' in reply) answer?.resolve(withBuffers(reply.result));
    else answer?.reject(new Error(reply.failure));
  }

  /** The next job starts another thread. */
  private fail(worker: Worker, reason: string): void {
    if (this.worker !== worker) return;
    this.worker = null;
    this.answer?.reject(new Error(`the thread of heavy work failed: ${reason}`));
    this.answer = null;
  }

  private async end(): Promise<void> {
    this.idle?.cancel();
    const { worker } = this;
    this.worker = null;
    this.answer?.reject(new Error('the thread of heavy work is stopped'));
    this.answer = null;
    await worker?.terminate();
  }
}
