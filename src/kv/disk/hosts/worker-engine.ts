// The disk engine as the data service uses it: lanes in worker threads, so that no fsync stalls a client's request.
import type { Worker } from 'node:worker_threads';
import { type Deferred, deferred } from '#base/deferred.ts';
import { realClock } from '#ports/clock.ts';
import { codeFile } from '#ports/code-place.ts';
import { startWorker } from '#ports/worker.ts';
import { DamagedFileError, DiskFullError, type DiskThreads } from '../../data/disk-engine.ts';
import type { Lane, LaneArguments, LaneOperation, LaneResult } from '../lane.ts';
import { LaneEngine, type LaneWork } from '../lane-engine.ts';
import type { LaneFailure, LaneReply, LaneRequest, LaneSettings } from './messages.ts';

/** Called when a thread ends by itself, with its name and the reason. */
type ThreadFailed = (thread: string, reason: string) => void;

/** Each worker costs about 12 MB. One writes, one more starts at the first fetch, and one while a compaction runs. */
export function workerDiskEngine(
  threads: Partial<DiskThreads> = {},
  threadFailed: ThreadFailed = () => {},
): LaneEngine {
  const engine = new LaneEngine((work) => new WorkerLane(work, threadFailed), realClock);
  engine.setThreads({ readers: 1, writers: 1, compactors: 1, ...threads });
  return engine;
}

/** Thread names as the operating system shows them. */
const threadNames: Record<LaneWork, string> = {
  write: 'disk writer',
  read: 'disk reader',
  copy: 'disk compactor',
};

class WorkerLane implements Lane {
  private worker: Worker | null = null;
  private stopped: Error | null = null;
  private isStopping = false;
  private lastId = 0;
  private readonly work: LaneWork;
  private readonly threadFailed: ThreadFailed;
  private readonly waiting = new Map<number, Deferred<unknown>>();

  constructor(work: LaneWork, threadFailed: ThreadFailed) {
    this.work = work;
    this.threadFailed = threadFailed;
  }

  get hasEnded(): boolean {
    return this.stopped !== null;
  }

  /** The first call starts the thread. */
  call<K extends LaneOperation>(operation: K, ...args: LaneArguments<K>): Promise<LaneResult<K>> {
    if (this.stopped !== null) return Promise.reject(this.stopped);
    const request = { id: ++this.lastId, operation, args: args.map(withoutSurroundingBuffer) };
    return this.post(request) as Promise<LaneResult<K>>;
  }

  async stop(): Promise<void> {
    const { worker } = this;
    this.isStopping = true;
    if (worker !== null && this.stopped === null) await this.call('stop');
    this.fail(new Error('the disk worker is stopped'));
    await worker?.terminate();
  }

  private post(request: LaneRequest): Promise<unknown> {
    this.worker ??= this.start();
    const answer = deferred<unknown>();
    this.waiting.set(request.id, answer);
    this.worker.postMessage(request, request.args.filter(isTransferable).map(bufferOf));
    return answer.promise;
  }

  private start(): Worker {
    const worker = startWorker(codeFile('kv/disk/hosts/disk-worker'), {
      workerData: { isLowPriority: this.work === 'copy' } satisfies LaneSettings,
      name: threadNames[this.work],
    });
    worker.on('message', (reply: LaneReply) => this.receive(reply));
    worker.on('error', (error) => this.end(`the disk worker failed: ${error.message}`));
    worker.on('exit', (code) => this.end(`the disk worker ended with code ${code}`));
    return worker;
  }

  /** A thread that fails while it stops rejects the stop. */
  private end(reason: string): void {
    if (this.stopped === null && !this.isStopping) this.threadFailed(threadNames[this.work], reason);
    this.fail(new Error(reason));
  }

  private receive(reply: LaneReply): void {
    const answer = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if ('failure' in reply) answer?.reject(errorOf(reply.failure));
    else answer?.resolve(reply.result);
  }

  private fail(reason: Error): void {
    this.stopped ??= reason;
    for (const answer of this.waiting.values()) answer.reject(this.stopped);
    this.waiting.clear();
  }
}

function errorOf({ message, damage, cuts }: LaneFailure): Error {
  if (cuts !== null) return new DiskFullError(cuts, message);
  return damage === null ? new Error(message) : new DamagedFileError(damage);
}

/** A part of a larger buffer would be sent with all of it: such parts are copied. Shared memory is sent without a copy. */
function withoutSurroundingBuffer(value: unknown): unknown {
  if (!(value instanceof Uint8Array) || value.byteLength === value.buffer.byteLength) return value;
  return value.buffer instanceof SharedArrayBuffer ? value : new Uint8Array(value);
}

const isTransferable = (value: unknown): value is Uint8Array<ArrayBuffer> =>
  value instanceof Uint8Array && value.buffer instanceof ArrayBuffer;
const bufferOf = (bytes: Uint8Array<ArrayBuffer>): ArrayBuffer => bytes.buffer;
