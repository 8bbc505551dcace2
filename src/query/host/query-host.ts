// A query thread: listens on its ports, follows the state that the main thread hands it, and answers its calls.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { loopbackHosts } from '#base/loopback.ts';
import { rest } from '#client/rest.adapter.ts';
import { type Listener, openListener } from '#http/listener.host.ts';
import { ClientGate } from '#ports/client-gate.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { IndexAdmin, Indexes } from '../../sqlpp/datastore/indexes.ts';
import { BucketClients } from '../data/bucket-clients.ts';
import { Keyspaces } from '../data/keyspaces.ts';
import { QueryHandler } from '../http/query-handler.ts';
import { QueryService } from '../service/query-service.ts';
import type { Engine } from '../state/engine-port.ts';
import { changeSettings, defaultSettings } from '../state/settings.ts';
import { KnownCallers } from './known-callers.ts';
import type {
  QueryCall,
  QueryMessage,
  QueryPorts,
  QueryReport,
  QueryStart,
  QueryState,
} from './query-messages.ts';
import { ScratchFiles } from './scratch-files.adapter.ts';

export interface ConnectedIndexes {
  readonly indexes: Indexes;
  readonly admin: IndexAdmin;
  revision(): number;
}

export interface QueryHostOptions {
  readonly say: (message: QueryMessage) => void;
  readonly log: Log;
  readonly engine: () => Promise<Engine>;
  readonly connectIndexes: (start: QueryStart) => Promise<ConnectedIndexes>;
}

const drainMs = 2_000;

export class QueryHost {
  private readonly options: QueryHostOptions;
  private readonly clients = new BucketClients();
  private readonly keyspaces = new Keyspaces();
  private readonly callers: KnownCallers;
  private readonly gate = new ClientGate();
  private service: QueryService | null = null;
  private start: QueryStart | null = null;
  private state: QueryState | null = null;
  private plain: Listener | null = null;
  private secure: Listener | null = null;
  private hosts = '';

  constructor(options: QueryHostOptions) {
    this.options = options;
    this.callers = new KnownCallers(realRandom.bytes(32), options.say);
  }

  /** Of the main thread. */
  async take(call: QueryCall): Promise<void> {
    if (call.kind === 'caller') return this.callers.answer(call.asked, call.caller, call.watch);
    if (call.kind === 'forget') return this.callers.forget(call.watch);
    const { id } = call;
    try {
      this.options.say({ kind: 'result', id, result: await this.act(call) });
    } catch (error) {
      const { message, code } = error as NodeJS.ErrnoException;
      this.options.say({ kind: 'failure', id, message, code });
    }
  }

  private act(call: Exclude<QueryCall, { kind: 'caller' | 'forget' }>): unknown {
    switch (call.kind) {
      case 'start':
        return this.open(call.options);
      case 'follow':
        return this.follow(call.state);
      case 'report':
        return this.report();
      case 'stop':
        return this.stop();
    }
  }

  private get running(): QueryService {
    if (this.service === null) throw new Error('the query service is not started');
    return this.service;
  }

  private async open(start: QueryStart): Promise<QueryPorts> {
    this.start = start;
    this.gate.admitOnly(start.clients);
    const service = await this.makeService(start);
    this.service = service;
    const handler = new QueryHandler(service, realClock);
    const serve: Parameters<typeof openListener>[0] = (request, response) => {
      handler.serve(request, response).catch((error: unknown) => {
        this.options.log.error('request.lost', { reason: String(error) });
        response.destroy();
      });
    };
    const { gate } = this;
    const hosts = this.wantedHosts(start);
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

  private async makeService(start: QueryStart): Promise<QueryService> {
    const settings = { ...defaultSettings(availableParallelism()), sequentialScans: start.sequentialScans };
    const connected = await this.options.connectIndexes(start);
    const scratch = new ScratchFiles(join(start.dataFolder, 'query-tmp'), () =>
      settings.tmpSpaceMb < 0 ? Infinity : settings.tmpSpaceMb * 2 ** 20,
    );
    const startedMs = realClock.monotonicMs();
    return new QueryService({
      engine: this.options.engine,
      authority: this.callers,
      clients: this.clients,
      keyspaces: this.keyspaces,
      indexes: connected.indexes,
      indexAdmin: connected.admin,
      indexRevision: () => connected.revision(),
      rest: {
        request: ({ user: username, password }, method, path, fields) =>
          rest({ ...this.known.rest, username, password }, method, path, fields),
      },
      scratch: () => scratch.open(),
      settings,
      clock: realClock,
      random: realRandom,
      log: this.options.log,
      processFigures: () => figures(realClock.monotonicMs() - startedMs),
      node: () => this.known.node,
    });
  }

  private get known(): QueryState {
    if (this.state === null) throw new Error('the query service knows nothing of the node yet');
    return this.state;
  }

  private async follow(state: QueryState): Promise<void> {
    const before = this.state;
    this.state = state;
    if (JSON.stringify(before?.data) !== JSON.stringify(state.data)) this.useData(state);
    this.followBuckets(state);
    // What POST /admin/settings changed here holds until the cluster's settings change.
    if (JSON.stringify(before?.settings) !== JSON.stringify(state.settings))
      changeSettings(this.running.deps.settings, {
        ...state.settings,
        'sequential-scans':
          state.settings['sequential-scans'] === true && this.start?.sequentialScans === true,
      });
    this.gate.admitOnly(state.clients);
    if (state.tls !== null && before !== null && before.tls !== state.tls) this.secure?.replaceTls(state.tls);
    await this.followHosts(state);
  }

  private useData({ data }: QueryState): void {
    this.clients.use(data);
  }

  private followBuckets({ buckets }: QueryState): void {
    for (const { name, uuid, incarnation } of this.keyspaces.all()) {
      const now = buckets.find((bucket) => bucket.name === name);
      if (now?.uuid !== uuid || now.incarnation !== incarnation) this.clients.forget(name);
    }
    if (JSON.stringify(this.keyspaces.all()) !== JSON.stringify(buckets)) this.keyspaces.set(buckets);
  }

  private async followHosts(state: QueryState): Promise<void> {
    const { start, plain } = this;
    if (start === null || plain === null) return;
    const hosts = this.wantedHosts({ ...start, plainForThisMachineOnly: state.plainForThisMachineOnly });
    if (hosts.join() === this.hosts) return;
    this.hosts = hosts.join();
    await plain.moveTo(hosts, realClock, drainMs);
  }

  private wantedHosts({ host, plainForThisMachineOnly }: QueryStart): readonly string[] {
    return plainForThisMachineOnly ? loopbackHosts(host) : [host];
  }

  private report(): QueryReport {
    const { counters, active, admission, prepared } = this.running;
    return {
      counters: { ...counters.values },
      active: active.count,
      queued: admission.queued,
      prepareds: prepared.all().length,
    };
  }

  private async stop(): Promise<void> {
    this.service?.stop();
    await Promise.all([this.plain?.close(realClock, drainMs), this.secure?.close(realClock, drainMs)]);
    this.clients.closeAll();
  }
}

function figures(uptimeMs: number) {
  const { heapUsed, heapTotal, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const share = (microseconds: number) => (uptimeMs === 0 ? 0 : microseconds / 10 / uptimeMs);
  return {
    usedBytes: heapUsed,
    heapBytes: heapTotal,
    residentBytes: rss,
    processors: availableParallelism(),
    userShare: share(user),
    systemShare: share(system),
  };
}
