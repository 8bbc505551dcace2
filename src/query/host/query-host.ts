// A query thread: listens on its ports, follows the state that the main thread sends, and answers its calls. The modules that
// answer requests are loaded with the first one.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MessagePort } from 'node:worker_threads';
import { type Deferred, deferred } from '#base/deferred.ts';
import { loopbackHosts } from '#base/loopback.ts';
import { type Listener, openListener } from '#http/listener.host.ts';
import { ClientGate } from '#ports/client-gate.ts';
import { realClock } from '#ports/clock.ts';
import { atMost } from '#ports/within.ts';
import { hasAttemptCollections } from './attempt-collections.adapter.ts';
import { AwaitedKeyspaces, awaitedMs } from './awaited-keyspaces.ts';
import type { QueryHostOptions } from './query-host-options.ts';
import type {
  QueryCall,
  QueryPorts,
  QueryReport,
  QueryStart,
  QueryState,
  StoredCall,
  StoredReply,
} from './query-messages.ts';
import type { QueryRuntime } from './query-runtime.ts';

/** How long a closing port waits for its requests. */
const drainTimeoutMs = 2_000;
/** How long no line follows one about a failed load: each request tries to load the service. */
const loggedEveryMs = 60_000;
const ping = '{"status":"OK"}';
/** Answers in the form of the query service, for the time in which the service is not loaded. */
const [notStarted, notLoaded, stopping] = [
  { code: 5000, msg: 'The node has not read its configuration yet.', retry: true },
  { code: 5000, msg: 'The query service could not be loaded, as the log of the node says.', retry: true },
  { code: 1180, msg: 'Service shutting down', retry: true },
].map((error) => JSON.stringify({ errors: [error], status: 'fatal' })) as [string, string, string];
const emptyReport: QueryReport = { counters: {}, active: 0, queued: 0, prepareds: 0 };

export class QueryHost {
  private readonly options: QueryHostOptions;
  private readonly gate = new ClientGate();
  private indexPort: Deferred<MessagePort> = deferred();
  private start: QueryStart | null = null;
  private documents: MessagePort | null = null;
  private state: QueryState | null = null;
  /** Resolves with the first state. */
  private readonly followed: Deferred<void> = deferred();
  private awaited = new AwaitedKeyspaces(realClock, []);
  /** The newest call of each kind among those that came before the runtime was loaded. */
  private readonly early = new Map<StoredCall['kind'], StoredCall>();
  private loading: Promise<QueryRuntime | null> | null = null;
  private runtime: QueryRuntime | null = null;
  private quietUntilMs = 0;
  private plain: Listener | null = null;
  private secure: Listener | null = null;
  private hosts = '';
  private isStopping = false;

  constructor(options: QueryHostOptions) {
    this.options = options;
  }

  /** Handles a call of the main thread. */
  async handle(call: QueryCall): Promise<void> {
    if (call.kind === 'caller') return this.runtime?.callers.answer(call.callId, call.caller, call.watch);
    if (call.kind === 'caller not checked') return this.runtime?.callers.fail(call);
    if (call.kind === 'discard') return this.runtime?.callers.discard(call.watch);
    if (call.kind === 'indexes') return this.indexPort.resolve(call.port);
    if (call.kind === 'expect') return this.expect(call.buckets);
    if (call.kind === 'nodes answered') return this.runtime?.remoteNodes.answer(call.callId, call.outcome);
    if (isStored(call)) return this.handleStored(call);
    if (isStoredReply(call)) return this.runtime?.handleChange(call);
    const { id } = call;
    try {
      this.options.sendMessage({ kind: 'result', id, result: await this.act(call) });
    } catch (error) {
      const { message, code } = error as NodeJS.ErrnoException;
      this.options.sendMessage({ kind: 'failure', id, message, code });
    }
  }

  private expect(buckets: readonly string[]): void {
    if (this.state?.buckets.length === 0) this.awaited.expect(buckets);
  }

  private handleStored(call: StoredCall): void {
    if (this.runtime === null) this.early.set(call.kind, call);
    else this.runtime.handleStored(call);
  }

  private act(call: Extract<QueryCall, { id: number }>): unknown {
    switch (call.kind) {
      case 'start':
        this.documents = call.documents;
        return this.open(call.options);
      case 'follow':
        return this.follow(call.state);
      case 'report':
        return this.runtime?.report() ?? emptyReport;
      case 'rows':
        return this.runtime?.rows(call.keyspace, call.after) ?? { rows: [], next: null };
      case 'prepared':
        return this.runtime?.preparedText(call.name, call.queryContext) ?? null;
      case 'discard prepared':
        return this.runtime?.discardPrepared(call.replaced);
      case 'remove rows':
        return this.runtime?.removeRows(call.keyspace, call.ids);
      case 'stop':
        return this.stop();
    }
  }

  private async open(start: QueryStart): Promise<QueryPorts> {
    this.start = start;
    this.awaited = new AwaitedKeyspaces(realClock, start.planned);
    this.gate.admitOnly(start.clients);
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      const lose = (error: unknown): void => {
        this.options.log.error('request.lost', { reason: String(error) });
        response.destroy();
      };
      try {
        this.serve(request, response)?.catch(lose);
      } catch (error) {
        lose(error);
      }
    };
    const { gate } = this;
    const hosts = wantedHosts(start.host, start.plainForThisMachineOnly);
    this.hosts = hosts.join();
    this.plain = await openListener(serve, { host: hosts[0] as string, port: start.port, gate });
    if (start.tls !== null)
      this.secure = await openListener(serve, {
        host: start.host,
        port: start.tlsPort,
        gate,
        tls: start.tls,
      });
    return { port: this.plain.port, tlsPort: this.secure?.port ?? 0 };
  }

  /** This method, and those that it calls for each request, are not async: every promise takes processor time. */
  private serve(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    if (request.url === '/admin/ping') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': ping.length });
      response.end(ping);
      return undefined;
    }
    const made = this.awaited.whenMade();
    const { runtime } = this;
    if (made !== null || runtime === null) return this.serveLater(request, response, made);
    return runtime.handler.serve(request, response);
  }

  private async serveLater(
    request: IncomingMessage,
    response: ServerResponse,
    made: Promise<void> | null,
  ): Promise<void> {
    if (made !== null) await made;
    // A node that starts again opens its ports before it has its configuration: clients know it from before.
    if (this.state === null) await atMost(realClock, awaitedMs, this.followed.promise);
    const { start, state } = this;
    if (this.isStopping && this.runtime === null) return refuse(response, stopping);
    if (start === null || state === null) return refuse(response, notStarted);
    const runtime = this.runtime ?? (await this.load(start, state));
    if (runtime === null) return refuse(response, notLoaded);
    await runtime.handler.serve(request, response);
  }

  /** Null if the service cannot be loaded now, for example for lack of file handles: the next call tries again. */
  private load(start: QueryStart, state: QueryState): Promise<QueryRuntime | null> {
    this.loading ??= this.loadNow(start, state).catch((error: unknown) => {
      this.logNotLoaded(String(error));
      this.loading = null;
      return null;
    });
    return this.loading;
  }

  private logNotLoaded(reason: string): void {
    const nowMs = realClock.monotonicMs();
    if (nowMs < this.quietUntilMs) return;
    this.quietUntilMs = nowMs + loggedEveryMs;
    this.options.log.error('query.not_loaded', { reason });
  }

  private async loadNow(start: QueryStart, state: QueryState): Promise<QueryRuntime> {
    const { QueryRuntime } = await import('./query-runtime.ts');
    this.indexPort = deferred();
    // Connected only now: messages would accumulate before a reader exists.
    this.options.sendMessage({ kind: 'connect indexes' });
    const ports = { indexes: await this.indexPort.promise, documents: this.documents };
    const runtime = await QueryRuntime.make(this.options, start, state, ports);
    // The state may have changed during loading.
    if (this.state !== null) runtime.follow(this.state);
    for (const call of this.early.values()) runtime.handleStored(call);
    this.runtime = runtime;
    return runtime;
  }

  private async follow(state: QueryState): Promise<void> {
    const before = this.state;
    this.state = state;
    this.followed.resolve();
    this.runtime?.follow(state);
    this.awaited.follow(state.buckets);
    this.cleanUpAfterCrash(state);
    this.gate.admitOnly(state.clients);
    if (state.tls !== null && before !== null && before.tls !== state.tls) this.secure?.replaceTls(state.tls);
    await this.followHosts(state);
  }

  /** Loads the service without a request if an earlier process may have left transactions. */
  private cleanUpAfterCrash(state: QueryState): void {
    const { start } = this;
    if (start === null || this.loading !== null || !hasAttemptCollections(start.dataFolder)) return;
    void this.load(start, state);
  }

  private async followHosts({ plainForThisMachineOnly }: QueryState): Promise<void> {
    const { start, plain } = this;
    if (start === null || plain === null) return;
    const hosts = wantedHosts(start.host, plainForThisMachineOnly);
    if (hosts.join() === this.hosts) return;
    this.hosts = hosts.join();
    await plain.moveTo(hosts, realClock, drainTimeoutMs);
  }

  private async stop(): Promise<void> {
    this.isStopping = true;
    this.awaited.end();
    this.followed.resolve();
    this.runtime?.stop();
    await Promise.all([
      this.plain?.close(realClock, drainTimeoutMs),
      this.secure?.close(realClock, drainTimeoutMs),
    ]);
    this.runtime?.close();
  }
}

function refuse(response: ServerResponse, body: string): void {
  response.writeHead(503, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

const isStored = (call: QueryCall): call is StoredCall =>
  call.kind === 'functions' || call.kind === 'libraries' || call.kind === 'statistics';

const isStoredReply = (call: QueryCall): call is StoredReply =>
  call.kind === 'functions changed' ||
  call.kind === 'libraries changed' ||
  call.kind === 'statistics changed';

const wantedHosts = (host: string, isForThisMachineOnly: boolean): readonly string[] =>
  isForThisMachineOnly ? loopbackHosts(host) : [host];
