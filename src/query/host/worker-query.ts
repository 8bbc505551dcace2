// The main thread's side of the query service: starts its thread, sends it state, authenticates its callers.
import type { MessagePort, Worker } from 'node:worker_threads';
import type { Authority, Caller } from '#auth/authority.ts';
import { type Deferred, deferred } from '#base/deferred.ts';
import { AppError } from '#contract/errors.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { AuditedStatement, PermissionRefusal } from '../audit.contract.ts';
import type {
  FunctionChange,
  FunctionDefinitions,
  FunctionLibraries,
  FunctionLibrary,
  FunctionOutcome,
  LibraryChange,
  LibraryOutcome,
  OtherQueryNodes,
  PreparedText,
  ReplacingStatement,
  RowsPage,
  StatisticsChange,
  StatisticsOutcome,
  StatisticsStore,
} from '../query.contract.ts';
import type {
  CallerNotChecked,
  NodesOutcome,
  NodesQuestion,
  QueryCall,
  QueryMessage,
  QueryPorts,
  QueryQuestion,
  QueryReport,
  QueryStart,
  QueryState,
} from './query-messages.ts';

export interface WorkerQueryOptions {
  /** Starts the thread; `main` knows its entry module. */
  readonly startThread: () => Worker;
  readonly authority: () => Authority;
  readonly functions: FunctionDefinitions;
  readonly libraries: FunctionLibraries;
  readonly statistics: StatisticsStore;
  readonly otherNodes: OtherQueryNodes;
  /** Creates the thread's port to the index service. */
  readonly indexPort: () => MessagePort;
  /** Called when a statement has ended that belongs in the audit log. */
  readonly audited: (statement: AuditedStatement) => void;
  /** Called for each login with a wrong password or an unknown name. */
  readonly loginRefused: (login: { readonly user: string; readonly from: string }) => void;
  /** Called for each request that was refused for a missing permission. */
  readonly permissionRefused: (refusal: PermissionRefusal) => void;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  /** Called when the thread ends unexpectedly. */
  readonly onLost: (reason: Error) => void;
}

const stopTimeoutMs = 5_000;
/**
 * How long the thread keeps an external user, whose password another system has. Then the authority is asked again, which keeps the answers
 * of that system as long as its settings say. Not shorter, since each end makes all connections authenticate again.
 */
const externalMs = 5_000;

type WithoutId<T> = T extends { readonly id: number } ? Omit<T, 'id'> : never;

class NoAccountsError extends Error {
  override readonly name = 'NoAccountsError';
}

function causeOf(error: Error): CallerNotChecked['cause'] {
  if (error instanceof AppError) return 'busy';
  return error instanceof NoAccountsError ? 'no accounts' : 'other';
}

export class WorkerQuery {
  private readonly options: WorkerQueryOptions;
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Deferred<unknown>>();
  private readonly watches = new Map<number, { stop(): void }>();
  /** The subscriptions to changes of functions, libraries and statistics; empty until the thread has asked for them. */
  private followed: readonly { stop(): void }[] = [];
  /** Null until the thread has asked for the stored libraries. */
  private sentLibraries: readonly FunctionLibrary[] | null = null;
  private lastId = 0;
  private lastWatch = 0;
  private lost: Error | null = null;
  private isStopping = false;

  constructor(options: WorkerQueryOptions) {
    this.options = options;
    this.worker = options.startThread();
    this.worker.on('message', (message: QueryMessage) => this.receive(message));
    this.worker.on('error', (error) => this.lose(error));
    this.worker.on('exit', (code) => this.lose(new Error(`the query thread ended with code ${code}`)));
  }

  start(options: QueryStart, documents: MessagePort): Promise<QueryPorts> {
    return this.call({ kind: 'start', options, documents }, [documents]);
  }

  /** Call before the data service gets its first buckets: requests wait for the state with them. */
  expect(buckets: readonly string[]): void {
    if (this.lost === null && !this.isStopping)
      this.worker.postMessage({ kind: 'expect', buckets } satisfies QueryCall);
  }

  /** Resolves when the thread has applied the state: later requests see its buckets and collections. */
  async follow(state: QueryState): Promise<void> {
    this.followScopes();
    try {
      await this.call({ kind: 'follow', state });
    } catch (error) {
      if (!this.isStopping) throw error; // a stopping node still applies its last configuration
    }
  }

  /** The thread's rows of a keyspace of the catalog that each node has for itself: those after an id. */
  rows(keyspace: string, after: string | null): Promise<RowsPage> {
    return this.call({ kind: 'rows', keyspace, after });
  }

  /** The thread's prepared statement of this name. */
  prepared(name: string, queryContext: string): Promise<PreparedText | null> {
    return this.call({ kind: 'prepared', name, queryContext });
  }

  discardPrepared(replaced: ReplacingStatement): Promise<void> {
    return this.call({ kind: 'discard prepared', replaced });
  }

  removeRows(keyspace: string, ids: readonly string[]): Promise<void> {
    return this.call({ kind: 'remove rows', keyspace, ids });
  }

  report(): Promise<QueryReport> {
    return this.call({ kind: 'report' });
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    for (const watch of this.watches.values()) watch.stop();
    for (const followed of this.followed) followed.stop();
    if (this.lost === null) {
      const timer = setTimeout(() => void this.worker.terminate(), stopTimeoutMs);
      await this.call({ kind: 'stop' }).catch(() => {}); // the thread has ended
      clearTimeout(timer);
    }
    await this.worker.terminate();
  }

  private call<T>(call: WithoutId<QueryCall>, transferred: MessagePort[] = []): Promise<T> {
    if (this.lost !== null) return Promise.reject(this.lost);
    const id = ++this.lastId;
    const answer = deferred<unknown>();
    this.waiting.set(id, answer);
    this.worker.postMessage({ ...call, id }, transferred);
    return answer.promise as Promise<T>;
  }

  private receive(message: QueryMessage): void {
    switch (message.kind) {
      case 'log':
        this.options.log[message.level](message.event, message.fields);
        return;
      case 'connect indexes': {
        this.followStored();
        const port = this.options.indexPort();
        this.worker.postMessage({ kind: 'indexes', port } satisfies QueryCall, [port]);
        return;
      }
      case 'authenticate':
        this.answerCaller(message.callId, message.question).catch((error: Error) => {
          this.worker.postMessage({
            kind: 'caller not checked',
            callId: message.callId,
            cause: causeOf(error),
            reason: error.message,
          } satisfies QueryCall);
        });
        return;
      case 'change function':
        void this.changeFunction(message.callId, message.change);
        return;
      case 'change libraries':
        void this.changeLibraries(message.callId, message.change);
        return;
      case 'change statistics':
        void this.changeStatistics(message.callId, message.change);
        return;
      case 'ask nodes':
        void this.askNodes(message.callId, message.question);
        return;
      case 'audit':
        this.options.audited(message.statement);
        return;
      case 'permission refused':
        this.options.permissionRefused(message.refusal);
        return;
      case 'unwatch':
        this.watches.get(message.watch)?.stop();
        this.watches.delete(message.watch);
        return;
    }
    const answer = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.kind === 'result') answer?.resolve(message.result);
    else answer?.reject(Object.assign(new Error(message.message), { code: message.code }));
  }

  private async askNodes(callId: number, question: NodesQuestion): Promise<void> {
    const { otherNodes } = this.options;
    const asked = answerOf(otherNodes, question);
    const outcome = await asked.catch((error: Error): NodesOutcome => ({ refused: error.message }));
    this.worker.postMessage({ kind: 'nodes answered', callId, outcome } satisfies QueryCall);
  }

  private async changeFunction(callId: number, change: FunctionChange): Promise<void> {
    const { functions } = this.options;
    const outcome = await functions
      .change(change)
      .catch((error: Error): FunctionOutcome => ({ refused: error.message }));
    this.sendFunctions();
    this.worker.postMessage({ kind: 'functions changed', callId, outcome } satisfies QueryCall);
  }

  /** Sends the thread every change of the functions, libraries and statistics, which any node of the cluster may store. */
  private followStored(): void {
    const { functions, libraries, statistics } = this.options;
    this.followed = [
      functions.onChange(() => this.sendFunctions()),
      libraries.onChange(() => this.sendLibraries()),
      statistics.onChange(() => this.sendStatistics()),
    ];
    this.sendFunctions();
    this.sendLibraries();
    this.sendStatistics();
  }

  private sendFunctions(): void {
    const functions = this.options.functions.all();
    this.worker.postMessage({ kind: 'functions', functions } satisfies QueryCall);
  }

  private sendLibraries(): void {
    const libraries = this.options.libraries.all();
    this.sentLibraries = libraries;
    this.worker.postMessage({ kind: 'libraries', libraries } satisfies QueryCall);
  }

  /** Libraries are deleted with their scope, without a call of `onChange`: each new state of the node may lack some. */
  private followScopes(): void {
    if (this.sentLibraries === null) return;
    const named = ({ scope, name }: FunctionLibrary) => `${scope?.bucket}/${scope?.scope}/${name}`;
    const present = this.options.libraries.all().map(named);
    if (present.join() !== this.sentLibraries.map(named).join()) this.sendLibraries();
  }

  private async changeLibraries(callId: number, change: LibraryChange): Promise<void> {
    const outcome = await this.options.libraries
      .change(change)
      .catch((error: Error): LibraryOutcome => ({ refused: error.message }));
    this.sendLibraries();
    this.worker.postMessage({ kind: 'libraries changed', callId, outcome } satisfies QueryCall);
  }

  private sendStatistics(): void {
    const statistics = this.options.statistics.all();
    this.worker.postMessage({ kind: 'statistics', statistics } satisfies QueryCall);
  }

  private async changeStatistics(callId: number, change: StatisticsChange): Promise<void> {
    const outcome = await this.options.statistics
      .change(change)
      .catch((error: Error): StatisticsOutcome => ({ refused: error.message }));
    this.sendStatistics();
    this.worker.postMessage({ kind: 'statistics changed', callId, outcome } satisfies QueryCall);
  }

  private async answerCaller(callId: number, question: QueryQuestion): Promise<void> {
    const caller = await this.callerOf(question);
    if (caller === null && 'name' in question)
      this.options.loginRefused({ user: question.name, from: question.remoteAddress });
    const watchId = ++this.lastWatch;
    const knownCaller = caller && {
      identity: caller.identity,
      roles: caller.roles ?? [],
      ...(caller.limits && { limits: caller.limits }),
    };
    this.worker.postMessage({
      kind: 'caller',
      callId,
      caller: knownCaller,
      watch: watchId,
    } satisfies QueryCall);
    if (caller !== null) this.watch(caller, watchId);
  }

  private async callerOf(question: QueryQuestion): Promise<Caller | null> {
    const authority = this.options.authority();
    if (!authority.isProvisioned()) throw new NoAccountsError('This node is in no cluster.');
    if ('certificateName' in question) return authority.byCertificate(question.certificateName);
    return await authority.authenticate(question);
  }

  /** The thread caches the caller until its account changes. */
  private watch(caller: Caller, watchId: number): void {
    let isDiscarded = false;
    const discard = (): void => {
      isDiscarded = true;
      this.watches.get(watchId)?.stop();
      this.watches.delete(watchId);
      if (this.lost === null && !this.isStopping)
        this.worker.postMessage({ kind: 'discard', watch: watchId } satisfies QueryCall);
    };
    const watching = this.options.authority().whenChanged?.(caller, discard);
    if (isDiscarded) return;
    const isExternal = caller.identity.domain === 'external';
    const timer = isExternal ? this.options.clock.after(externalMs, discard) : undefined;
    this.watches.set(watchId, {
      stop: () => {
        watching?.stop();
        timer?.cancel();
      },
    });
  }

  private lose(reason: Error): void {
    if (this.lost !== null) return;
    this.lost = reason;
    for (const answer of this.waiting.values()) answer.reject(reason);
    this.waiting.clear();
    if (!this.isStopping) this.options.onLost(reason);
  }
}

async function answerOf(nodes: OtherQueryNodes, question: NodesQuestion): Promise<NodesOutcome> {
  switch (question.kind) {
    case 'rows':
      return await nodes.rows(question.keyspace);
    case 'rows after':
      return await nodes.rowsAfter(question.keyspace, question.node, question.after);
    case 'prepared':
      return { prepared: await nodes.prepared(question.name, question.queryContext) };
    case 'discard prepared':
      await nodes.discardPrepared(question.replaced);
      return 'removed';
    case 'remove':
      await nodes.remove(question.keyspace, question.node, question.ids);
      return 'removed';
  }
}
