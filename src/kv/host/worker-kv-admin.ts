// KvAdmin for a data service in its own worker thread, so that work of the main thread does not delay clients.
import type { MessagePort, Worker } from 'node:worker_threads';
import { type Deferred, deferred } from '#base/deferred.ts';
import { codeFile } from '#ports/code-place.ts';
import type { Log } from '#ports/log.ts';
import { startWorker } from '#ports/worker.ts';
import type {
  BatchPort,
  CompactionRequest,
  ExternalLogin,
  KvAdmin,
  KvDesired,
  KvPorts,
  KvReport,
  KvStartOptions,
  MapChange,
  MapOutcome,
  MapRequest,
  RefusedLogin,
  ShardMap,
  ShardPosition,
} from '../admin.ts';
import type { DataThreadInput, ThreadCallFailure, ThreadMessage } from './thread-messages.ts';

export interface WorkerKvAdminOptions {
  log: Log;
  /** Called if the thread ends although `stop` was not called: the data service is lost. */
  onLost: (reason: Error) => void;
  onLoginRefused?: (login: RefusedLogin) => void;
  /** Verifies the password of an external user. Omitted: their logins fail. */
  verifyExternal?: (name: string, password: string) => Promise<boolean>;
  /** Changes the map of a bucket. Omitted: nothing is changed. */
  changeMap?: (change: MapChange) => Promise<MapOutcome>;
}

export class WorkerKvAdmin implements KvAdmin {
  private readonly options: WorkerKvAdminOptions;
  private readonly worker: Worker;
  /** See `activityCount`. */
  private readonly activityCounter = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  /** Takes the log lines of the data thread. */
  private log: Log;
  private readonly waiting = new Map<number, Deferred<unknown>>();
  private lastId = 0;
  private lost: Error | null = null;
  private isStopping = false;

  constructor(options: WorkerKvAdminOptions) {
    this.options = options;
    this.log = options.log;
    this.worker = startWorker(codeFile('kv/host/data-thread'), {
      name: 'data service',
      workerData: this.activityCounter satisfies DataThreadInput,
    });
    this.worker.on('message', (message: ThreadMessage) => this.receive(message));
    this.worker.on('error', (error) => this.lose(error));
    this.worker.on('exit', (code) => this.lose(new Error(`the data thread ended with code ${code}`)));
  }

  start(options: KvStartOptions): Promise<KvPorts> {
    return this.call('start', [options]);
  }

  apply(desired: KvDesired): Promise<KvReport> {
    const { log } = this.options;
    this.log = desired.limits?.logsConnections ? log.child('kv', 'debug') : log;
    return this.call('apply', [desired]);
  }

  followMap(map: ShardMap): Promise<void> {
    return this.call('followMap', [map]);
  }

  report(bucketUuid?: string): Promise<KvReport> {
    return this.call('report', bucketUuid === undefined ? [] : [bucketUuid]);
  }

  /** Rises before a client is answered: while it is the same, a report made since shows all that clients know. */
  activityCount(): number {
    return Atomics.load(this.activityCounter, 0);
  }

  answerExternalLogin(id: number, isRight: boolean): Promise<void> {
    return this.call('answerExternalLogin', [id, isRight]);
  }

  answerMapChange(id: number, outcome: MapOutcome): Promise<void> {
    return this.call('answerMapChange', [id, outcome]);
  }

  randomKey(bucket: string): Promise<string | null> {
    return this.call('randomKey', [bucket]);
  }

  shardPositions(bucketUuid: string): Promise<(ShardPosition | null)[]> {
    return this.call('shardPositions', [bucketUuid]);
  }

  compact(bucketUuid: string, request: CompactionRequest): Promise<void> {
    return this.call('compact', [bucketUuid, request]);
  }

  cancelCompaction(bucketUuid: string, origin?: string): Promise<void> {
    return this.call('cancelCompaction', [bucketUuid, origin]);
  }

  serveBatches(port: BatchPort): Promise<void> {
    return this.call('serveBatches', [port], [port as unknown as MessagePort]);
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    try {
      if (!this.lost) await this.call('stop', []);
    } finally {
      await this.worker.terminate();
    }
  }

  private call<T>(method: keyof KvAdmin, args: unknown[], transferred: MessagePort[] = []): Promise<T> {
    if (this.lost) return Promise.reject(this.lost);
    const id = ++this.lastId;
    const answer = deferred<unknown>();
    this.waiting.set(id, answer);
    this.worker.postMessage({ id, method, args }, transferred);
    return answer.promise as Promise<T>;
  }

  private receive(message: ThreadMessage): void {
    if (message.kind === 'log') {
      this.log[message.level](message.event, message.fields);
      return;
    }
    if (message.kind === 'login refused') {
      this.options.onLoginRefused?.(message.login);
      return;
    }
    if (message.kind === 'external login') {
      void this.verify(message.login);
      return;
    }
    if (message.kind === 'map change') {
      void this.changeMap(message.request);
      return;
    }
    const answer = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.kind === 'result') answer?.resolve(message.result);
    else answer?.reject(errorOf(message.failure));
  }

  /** Answers even if the verification fails, because a login waits for the answer. */
  private async verify({ id, name, password }: ExternalLogin): Promise<void> {
    const verified = this.options.verifyExternal?.(name, password) ?? false;
    const isRight = await Promise.resolve(verified).catch(() => false);
    await this.answerExternalLogin(id, isRight).catch(() => {});
  }

  private async changeMap({ id, change }: MapRequest): Promise<void> {
    const changed = this.options.changeMap?.(change) ?? nobodyChanges;
    const outcome = await changed.catch(
      (error: Error) => ({ kind: 'unknown', reason: error.message }) as const,
    );
    await this.answerMapChange(id, outcome).catch(() => {});
  }

  private lose(reason: Error): void {
    if (this.lost) return;
    this.lost = reason;
    for (const answer of this.waiting.values()) answer.reject(reason);
    this.waiting.clear();
    if (!this.isStopping) this.options.onLost(reason);
  }
}

const nobodyChanges: Promise<MapOutcome> = Promise.resolve({
  kind: 'unknown',
  reason: 'this node has no configuration store',
});

const errorOf = ({ message, code }: ThreadCallFailure): Error =>
  Object.assign(new Error(message), code === undefined ? {} : { code });
