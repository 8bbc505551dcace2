// Assembles the parts that answer requests. Loaded with the first request, so that an idle node needs no memory for them.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { rest } from '#client/rest.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { collectGarbage } from '#ports/spare-memory.ts';
import { pageForOthers, removeHere } from '../catalog/own-rows.ts';
import { CurlFunction } from '../curl/curl-function.ts';
import { httpCall } from '../curl/http-call.adapter.ts';
import { Lookups } from '../curl/lookups.adapter.ts';
import { BatchedDocuments } from '../data/batched-documents.ts';
import { BucketClients } from '../data/bucket-clients.ts';
import { Keyspaces } from '../data/keyspaces.ts';
import { QuickReads } from '../data/quick-reads.ts';
import { QueryHandler } from '../http/query-handler.ts';
import { startJavaScriptThread } from '../javascript/hosts/start-javascript-thread.ts';
import { JavaScriptFunctions } from '../javascript/javascript-functions.ts';
import { JavaScriptThreads } from '../javascript/javascript-threads.ts';
import type { PreparedText, ReplacingStatement, RowsPage } from '../query.contract.ts';
import { QueryService } from '../service/query-service.ts';
import { changeSettings, defaultSettings } from '../state/settings.ts';
import { StoredAttemptCollections } from './attempt-collections.adapter.ts';
import { mayHaveGoneNodes } from './gone-nodes.ts';
import { KnownCallers } from './known-callers.ts';
import type { QueryHostOptions } from './query-host-options.ts';
import type { QueryReport, QueryStart, QueryState, StoredCall, StoredReply } from './query-messages.ts';
import { RemoteQueryNodes } from './remote-query-nodes.ts';
import { ScratchFiles } from './scratch-files.adapter.ts';
import { type StoredObjects, storedObjects } from './stored-objects.ts';

export class QueryRuntime {
  readonly callers: KnownCallers;
  readonly handler: QueryHandler;
  readonly remoteNodes: RemoteQueryNodes;
  private readonly start: QueryStart;
  private readonly clients: BucketClients;
  private readonly keyspaces: Keyspaces;
  private readonly objects: StoredObjects;
  private readonly threads: JavaScriptThreads;
  private readonly service: QueryService;
  private state: QueryState;

  private constructor(
    start: QueryStart,
    state: QueryState,
    parts: Pick<QueryRuntime, 'callers' | 'remoteNodes'> & {
      clients: BucketClients;
      keyspaces: Keyspaces;
      objects: StoredObjects;
      threads: JavaScriptThreads;
      service: (currentState: () => QueryState) => QueryService;
    },
  ) {
    this.start = start;
    this.state = state;
    this.callers = parts.callers;
    this.remoteNodes = parts.remoteNodes;
    this.clients = parts.clients;
    this.keyspaces = parts.keyspaces;
    this.objects = parts.objects;
    this.threads = parts.threads;
    this.service = parts.service(() => this.state);
    this.handler = new QueryHandler(this.service, realClock);
    this.apply(null, state);
  }

  static async make(
    options: QueryHostOptions,
    start: QueryStart,
    state: QueryState,
    ports: { readonly indexes: MessagePort; readonly documents: MessagePort | null },
  ): Promise<QueryRuntime> {
    const connected = await options.connectIndexes(start, ports.indexes);
    const callers = new KnownCallers(realRandom.bytes(32), options.sendMessage);
    const { documents } = ports;
    const [batches, quick] = [
      documents && new BatchedDocuments(documents),
      documents && new QuickReads(documents, options.readMemory(documents)),
    ];
    const [clients, keyspaces] = [new BucketClients(realClock, batches, quick), new Keyspaces()];
    const objects = storedObjects(options.sendMessage);
    const remoteNodes = new RemoteQueryNodes(options.sendMessage);
    const settings = { ...defaultSettings(availableParallelism()), sequentialScans: start.sequentialScans };
    const scratchBytesMax = () => (settings.tmpSpaceMb < 0 ? Infinity : settings.tmpSpaceMb * 2 ** 20);
    const scratch = new ScratchFiles(join(start.dataFolder, 'query-tmp'), scratchBytesMax);
    const attemptCollections = new StoredAttemptCollections(start.dataFolder);
    const startedMs = realClock.monotonicMs();
    const threads = new JavaScriptThreads({
      startThread: startJavaScriptThread,
      clock: realClock,
      threadsMax: javaScriptThreads(),
    });
    const lookups = new Lookups();
    const service = (currentState: () => QueryState) =>
      new QueryService({
        engine: options.engine,
        authority: callers,
        clients,
        keyspaces,
        settings,
        edition: start.edition,
        indexes: connected.indexes,
        indexAdmin: connected.admin,
        indexRevision: () => connected.revision(),
        functions: objects.functions,
        changeFunction: (change) => objects.functionChanges.request(change),
        libraries: objects.libraries,
        changeLibraries: (change) => objects.libraryChanges.request(change),
        javaScript: new JavaScriptFunctions({ threads, libraries: objects.libraries }),
        curl: new CurlFunction({
          allowlist: () => currentState().curl,
          send: (request, signal, countBytes) =>
            httpCall(request, signal, { clock: realClock, lookups, countBytes }),
          userAgent: () => `divan/${currentState().node.version}`,
        }),
        statistics: objects.statistics,
        changeStatistics: (change) => objects.statisticsChanges.request(change),
        rest: {
          request: ({ user: username, password }, method, path, fields, tag) =>
            rest({ ...currentState().rest, username, password, tag }, method, path, fields),
        },
        scratch: () => scratch.open(),
        collectGarbage,
        attemptCollections,
        audit: {
          settings: () => currentState().audit,
          report: (statement) => options.sendMessage({ kind: 'audit', statement }),
          permissionRefused: (refusal) => options.sendMessage({ kind: 'permission refused', refusal }),
        },
        clock: realClock,
        random: realRandom,
        log: options.log,
        processFigures: () => figures(realClock.monotonicMs() - startedMs),
        node: () => currentState().node,
        otherNodes: remoteNodes,
      });
    return new QueryRuntime(start, state, {
      callers,
      clients,
      keyspaces,
      objects,
      remoteNodes,
      threads,
      service,
    });
  }

  follow(state: QueryState): void {
    const before = this.state;
    this.state = state;
    this.apply(before, state);
  }

  /** Takes the functions, libraries or statistics that the configuration has now. */
  handleStored(call: StoredCall): void {
    if (call.kind === 'functions') this.objects.functions.set(call.functions);
    else if (call.kind === 'libraries') this.objects.libraries.set(call.libraries);
    else this.objects.statistics.set(call.statistics);
  }

  /** Takes the outcome of a change of functions, libraries or statistics that this thread requested. */
  handleChange(reply: StoredReply): void {
    if (reply.kind === 'functions changed') this.objects.functionChanges.answer(reply.callId, reply.outcome);
    else if (reply.kind === 'libraries changed')
      this.objects.libraryChanges.answer(reply.callId, reply.outcome);
    else this.objects.statisticsChanges.answer(reply.callId, reply.outcome);
  }

  rows(keyspace: string, after: string | null): RowsPage {
    return pageForOthers(this.service, keyspace, after);
  }

  preparedText(name: string, queryContext: string): PreparedText | null {
    return this.service.prepared.textOf(name, queryContext);
  }

  discardPrepared(replaced: ReplacingStatement): void {
    this.service.prepared.discard(replaced);
  }

  removeRows(keyspace: string, ids: readonly string[]): void {
    removeHere(this.service, keyspace, ids);
  }

  report(): QueryReport {
    const { counters, active, admission, longStatements, prepared } = this.service;
    return {
      counters: { ...counters.values },
      active: active.count,
      queued: admission.queued + longStatements.queued,
      prepareds: prepared.all().length,
    };
  }

  stop(): void {
    this.service.stop();
    this.threads.stop();
  }

  close(): void {
    this.clients.closeAll();
    this.clients.batches?.close();
  }

  private apply(before: QueryState | null, state: QueryState): void {
    if (!isSame(before?.data, state.data)) this.clients.use(state.data);
    if (before === null || !isSame(before.cluster, state.cluster)) this.clients.follow(state.cluster);
    this.followBuckets(state);
    if (mayHaveGoneNodes(before, state)) this.service.cleanUpForOthers();
    const { functions } = this.objects;
    if (!isSame(functions.all(), state.functions)) functions.set(state.functions);
    // Changes by POST /admin/settings are kept until the cluster's settings change.
    if (isSame(before?.settings, state.settings)) return;
    const isOn = state.settings['sequential-scans'] === true && this.start.sequentialScans;
    changeSettings(this.service.deps.settings, { ...state.settings, 'sequential-scans': isOn });
  }

  private followBuckets({ buckets }: QueryState): void {
    for (const { name, uuid } of this.keyspaces.all())
      if (buckets.find((bucket) => bucket.name === name)?.uuid !== uuid) this.clients.discard(name);
    if (!isSame(this.keyspaces.all(), buckets)) this.keyspaces.set(buckets);
  }
}

/** The number of threads: few, so that busy functions leave processors to statements; at least two, so that one busy function does not block all others. */
const javaScriptThreads = (): number => Math.min(4, Math.max(2, availableParallelism() - 1));

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

function figures(uptimeMs: number) {
  const { heapUsed, heapTotal, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const percentOfProcessor = (microseconds: number) => (uptimeMs === 0 ? 0 : microseconds / 10 / uptimeMs);
  return {
    usedBytes: heapUsed,
    heapBytes: heapTotal,
    residentBytes: rss,
    processors: availableParallelism(),
    userPercent: percentOfProcessor(user),
    systemPercent: percentOfProcessor(system),
  };
}
