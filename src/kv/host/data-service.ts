// The data service: its ports, its buckets, and the desired state that it applies. It runs in a worker thread; in tests, in the
// thread of the test.
import { HashingQueue } from '#auth/hashing-queue.ts';
import type { Kdf } from '#auth/kdf.ts';
import { LoginThrottle } from '#auth/login-throttle.ts';
import { ClientGate } from '#ports/client-gate.ts';
import type { Clock } from '#ports/clock.ts';
import { type HandleShares, handleShares } from '#ports/handles.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import { UnauthenticatedSockets } from '#ports/unauthenticated-sockets.ts';
import { atMost } from '#ports/within.ts';
import { collectionIdBytes, defaultCollectionId } from '#wire/collection-id.ts';
import { frameBytesMax } from '#wire/frame.ts';
import { Output } from '#wire/output.ts';
import type { Status } from '#wire/status.ts';
import { noTraffic } from '../activity.ts';
import type {
  BatchPort,
  CompactionRequest,
  ExternalLogin,
  KvAdmin,
  KvDesired,
  KvPorts,
  KvReport,
  KvStartOptions,
  MapOutcome,
  MapRequest,
  PeerTls,
  RefusedLogin,
  ShardMap,
  ShardPosition,
  SyncMember,
} from '../admin.ts';
import type { FoundKey } from '../bucket/keys/random-search.ts';
import { expiryPagerSecondsDefault } from '../bucket/upkeep/expiry-pager.ts';
import { handlers } from '../commands/index.ts';
import type { ConnectionHost } from '../connection/connection.ts';
import { connectionLimits } from '../connection/connection-limits.ts';
import { InputBudget, type InputLimits } from '../connection/input-budget.ts';
import type { DiskEngine } from '../data/disk-engine.ts';
import { Dispatcher } from '../dispatch/dispatcher.ts';
import { type HeavyPerformer, HeavyQueue } from '../heavy/heavy-queue.ts';
import { inlineHeavy } from '../heavy/inline.ts';
import { Listener } from '../listener/listener.host.ts';
import type { LinkHost } from '../replication/link.ts';
import { listenForNodes } from '../replication/listen-for-nodes.ts';
import { Replication } from '../replication/replication.ts';
import { TlsLinks } from '../replication/tls-links.host.ts';
import { Directory } from '../served/directory.ts';
import { TurnClock } from '../turn-clock.ts';
import { Now } from '../vbucket/now.ts';
import type { BucketHostOptions } from './bucket-host.ts';
import { BucketHosts } from './bucket-hosts.ts';
import { bucketReports } from './bucket-reports.ts';
import { Clients, defaultLimits } from './clients.ts';
import { defaultThreads, diskThreads } from './disk-threads.ts';
import { DocumentBatches } from './document-batches.ts';
import { ExternalLogins } from './external-logins.ts';
import { MapRequests } from './map-requests.ts';
import { NodeClients, nodeAccount } from './node-clients.ts';
import { TriedSteps } from './tried-steps.ts';
import { unauthenticatedLimits } from './unauthenticated-limits.ts';

export interface DataServiceOptions {
  clock: Clock;
  random: Random;
  log: Log;
  kdf: Kdf;
  disk: DiskEngine;
  /** Runs heavy work (on large values) in another thread; omitted: in this thread, later. */
  heavy?: HeavyPerformer;
  loginRefused?: (login: RefusedLogin) => void;
  /** Requests the verification of an external user, which `answerExternalLogin` answers. Omitted: their logins fail. */
  askExternal?: (login: ExternalLogin) => void;
  /** Requests a change of a map, which `answerMapChange` answers. Omitted: no map is changed. */
  askMapChange?: (request: MapRequest) => void;
  /** Connections to other nodes; omitted: over TLS. */
  links?: LinkHost<PeerTls>;
  /** Memory limits for large requests that are arriving. */
  input?: InputLimits;
  /** File descriptors of the process; omitted: read from the system. */
  handles?: HandleShares;
  /** Overrides the limit of the desired state. */
  connectionsMax?: number;
  /** See `ListenerOptions`. */
  withoutSharedBuffer?: boolean;
  /** Processors of the machine; 1 by default. */
  processors?: number;
  /** Counter with one element: the data service increases it before each answer to a client; other threads may read it. */
  activityCounter?: Int32Array;
  /** Called when two connections are open at once: then there are clients other than the node's own start check. */
  onSecondClient?: () => void;
}

/** `apply` waits this long for new buckets. Small ones are ready by then; large ones continue to warm up. */
const startWaitMs = 2_000;

export class DataService implements KvAdmin {
  private readonly options: DataServiceOptions;
  /** Also limits the work between two runs of timers and sockets. */
  private readonly clock: TurnClock;
  private readonly directory = new Directory();
  private readonly now = new Now();
  private readonly batches = new DocumentBatches(this.directory, () => this.tick());
  private hosts!: BucketHosts;
  private readonly gate = new ClientGate();
  private readonly clients: Clients;
  private readonly listener: Listener;
  /** Connections that have not logged in. */
  readonly unauthenticated: UnauthenticatedSockets;
  private connectionHost!: ConnectionHost;
  private expiryPagerSeconds = expiryPagerSecondsDefault;
  private readonly traffic = noTraffic();
  private readonly heavy: HeavyQueue;
  private readonly handles: HandleShares;
  private threads = diskThreads(defaultThreads, 1);
  private readonly externalLogins: ExternalLogins;
  private readonly mapRequests: MapRequests;
  private readonly links: LinkHost<PeerTls>;
  private readonly nodeClients: NodeClients;
  /** Null while this node is the only one. */
  private replication: Replication | null = null;
  private isStopping = false;
  /** While false no client is admitted: its login would be refused, which clients take as final. */
  private knowsUsers = false;
  /** The last call of `apply`; calls are applied one after the other. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(options: DataServiceOptions) {
    this.options = options;
    this.clock = new TurnClock(options.clock);
    this.handles = options.handles ?? handleShares();
    this.heavy = new HeavyQueue(options.heavy ?? inlineHeavy(options.clock));
    this.externalLogins = new ExternalLogins(options.askExternal ?? null);
    this.links = options.links ?? new TlsLinks();
    this.mapRequests = new MapRequests(options.askMapChange ?? null);
    const { onSecondClient, log } = options;
    const { clock, directory, gate, traffic } = this;
    const tick = () => this.tick();
    this.clients = new Clients({ clock, log, directory, gate, traffic, tick, onSecondClient });
    this.nodeClients = new NodeClients(this.links, this.clients, () => this.connectionHost);
    this.unauthenticated = new UnauthenticatedSockets(
      () => unauthenticatedLimits(this.connectionsMax()),
      clock,
    );
    this.listener = new Listener({
      gate: this.gate,
      factory: { connect: (...client) => this.clients.connect(this.connectionHost, ...client) },
      connectionsMax: () => this.connectionsMax(),
      connectionCount: () => this.clients.all.size,
      unauthenticated: this.unauthenticated,
      refused: (socket) => this.clients.refused(socket),
      withoutSharedBuffer: options.withoutSharedBuffer ?? false,
    });
  }

  async start(options: KvStartOptions): Promise<KvPorts> {
    const { clock } = this;
    const { random, log, kdf, disk } = this.options;
    this.gate.admitOnly(options.clients ?? null);
    this.tick();
    const output = new Output();
    const environment = {
      clock,
      random,
      log,
      kdf,
      throttle: new LoginThrottle(clock),
      hashingQueue: new HashingQueue(),
      directory: this.directory,
      heavy: this.heavy,
      version: options.version,
      secret: Buffer.from(options.loginSecret ?? random.bytes(32)),
      startedMs: clock.monotonicMs(),
      loginRefused: this.options.loginRefused ?? (() => {}),
      verifyExternal: (name: string, password: string) => this.externalLogins.ask(name, password),
      connections: () => this.clients.all,
      traffic: this.traffic,
      limits: () => this.limitFigures(),
    };
    const dispatcher = new Dispatcher(environment, output, handlers);
    this.connectionHost = {
      dispatcher,
      output,
      input: new InputBudget(this.options.input ?? connectionLimits.input),
      traffic: this.traffic,
      turns: clock,
      tick: () => this.tick(),
      nowMs: () => clock.monotonicMs(),
      wake: (connection) => this.clients.wake(connection),
      discard: (connection) => this.clients.discard(connection),
    };
    const folder = `${options.dataDir}/buckets`;
    const countWork = (workBytes: number): void => clock.countWork(workBytes);
    const { lock } = options;
    const replication = () => this.replication;
    const inTurn = (act: () => Promise<void>): void => {
      this.last = this.last.then(() => (this.isStopping ? undefined : act())).catch(() => {});
    };
    const { now } = this;
    this.hosts = this.bucketHosts({
      clock,
      countWork,
      random,
      log,
      now,
      disk,
      folder,
      lock,
      replication,
      inTurn,
    });
    return await this.listen(options);
  }

  async answerExternalLogin(id: number, isRight: boolean): Promise<void> {
    this.externalLogins.answer(id, isRight);
  }

  async answerMapChange(id: number, outcome: MapOutcome): Promise<void> {
    this.mapRequests.answer(id, outcome);
  }

  apply(desired: KvDesired): Promise<KvReport> {
    // The allowlist is applied at once, without waiting for earlier calls.
    this.gate.admitOnly(desired.clients ?? null);
    const done = this.last.then(() => this.follow(desired));
    this.last = done.catch(() => {});
    return done;
  }

  async followMap(map: ShardMap): Promise<void> {
    this.hosts.of(map.bucketUuid)?.followMap(map);
  }

  async report(bucketUuid?: string): Promise<KvReport> {
    const buckets = await bucketReports(this.hosts.all, this.clock, bucketUuid);
    return { buckets, connections: this.clients.all.size, traffic: { ...this.traffic } };
  }

  async randomKey(bucket: string): Promise<string | null> {
    const engine = this.directory.buckets.get(bucket)?.engine;
    if (!engine) return null;
    const id = defaultCollectionId;
    const found = await new Promise<FoundKey | Status>((done) => engine.keys.findRandom(id, done));
    return typeof found === 'number' ? null : found.key.toString('utf8', collectionIdBytes(id));
  }

  async shardPositions(bucketUuid: string): Promise<(ShardPosition | null)[]> {
    return this.hosts.of(bucketUuid)?.positions() ?? [];
  }

  async serveBatches(port: BatchPort): Promise<void> {
    this.batches.serve(port, this.clock);
  }

  async compact(bucketUuid: string, request: CompactionRequest): Promise<void> {
    this.hosts.of(bucketUuid)?.compact(request);
  }

  async cancelCompaction(bucketUuid: string, origin?: string): Promise<void> {
    this.hosts.of(bucketUuid)?.cancelCompaction(origin);
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    this.clients.endTimeoutSweeps();
    const closed = this.listener.close();
    await this.last;
    this.replication?.stop();
    const stopped = await Promise.allSettled([...this.hosts.all.values()].map((host) => host.stop()));
    for (const outcome of stopped)
      if (outcome.status === 'rejected')
        this.options.log.error('bucket.stop_failed', { reason: (outcome.reason as Error).message });
    await this.clients.end();
    await this.replication?.release();
    this.replication?.close();
    await this.links.close();
    await this.heavy.stop();
    await closed;
    await this.options.disk.stop();
  }

  private async listen(options: KvStartOptions): Promise<KvPorts> {
    try {
      const forThisMachineOnly = options.plainForThisMachineOnly ?? false;
      const port = await this.listener.listen(options.host, options.port, { forThisMachineOnly });
      const tlsPort = await this.listener.listenTls(options.host, options.tlsPort);
      const replicationPort = await listenForNodes(this.links, options);
      this.clients.scheduleTimeoutSweep();
      return { port, tlsPort, ...(replicationPort !== null && { replicationPort }) };
    } catch (error) {
      await Promise.all([this.listener.close(), this.links.close()]);
      throw error;
    }
  }

  private bucketHosts(bucket: BucketHostOptions): BucketHosts {
    const { clients, directory } = this;
    return new BucketHosts({
      bucket,
      added: (served) => void directory.buckets.set(served.name, served),
      removed: (served) => {
        directory.buckets.delete(served.name);
        served.producers.bucketGone();
        clients.closeOn(served);
      },
      configChanged: (served) => clients.pushConfig(served),
    });
  }

  /** Sets the current time for everything until the next call. */
  private tick(): void {
    const { clock, options } = this;
    if (options.activityCounter) Atomics.add(options.activityCounter, 0, 1);
    this.now.set(clock.wallMs(), clock.monotonicMs());
  }

  private connectionsMax(): number {
    if (!this.knowsUsers) return 0;
    return Math.min(this.options.connectionsMax ?? this.clients.limits.connectionsMax, this.handles.data);
  }

  private limitFigures(): Record<string, number> {
    return {
      maxconns: this.connectionsMax(),
      max_packet_size: frameBytesMax,
      num_reader_threads: this.threads.readers,
      num_writer_threads: this.threads.writers,
      num_storage_threads: this.threads.compactors,
    };
  }

  private async follow(desired: KvDesired): Promise<KvReport> {
    if (this.isStopping) throw new Error('the data service is stopping');
    this.tick();
    const { directory } = this;
    this.clients.follow(desired.limits ?? defaultLimits);
    this.threads = diskThreads(desired.threads ?? defaultThreads, this.options.processors ?? 1);
    this.options.disk.setThreads?.(this.threads);
    const { cluster } = desired;
    // Without a certificate this node could not reach the copies that the map names.
    if (cluster?.tls) this.replicationAs(cluster.self).follow(cluster);
    this.nodeClients.follow(cluster?.peers ?? []);
    if (desired.tls) this.listener.useTls(desired.tls);
    const steps = new TriedSteps();
    await steps.try(this.restrictPlainPort(desired.plainForThisMachineOnly ?? false));
    if (directory.followCluster(desired.clusterConfig)) this.clients.pushConfig(null);
    const { hosts } = this;
    await hosts.keepOnly(desired, steps);
    this.expiryPagerSeconds = desired.expiryPagerSeconds ?? expiryPagerSecondsDefault;
    for (const host of hosts.all.values()) host.expireEvery(this.expiryPagerSeconds);
    const begun = new Set(hosts.starts());
    const followed = desired.buckets.map((spec) => hosts.follow(spec, this.expiryPagerSeconds));
    directory.follow(desired, cluster?.tls ? [nodeAccount] : []);
    this.knowsUsers = true;
    await Promise.all(followed);
    await this.waitForStarts(begun);
    steps.throwFirst();
    return await this.report();
  }

  /** The replication of this node, which is no longer the only one. */
  private replicationAs(self: SyncMember): Replication {
    const { clock, links, mapRequests } = this;
    const { log } = this.options;
    this.replication ??= new Replication({
      self,
      links,
      clock,
      log,
      tick: () => this.tick(),
      change: (change) => mapRequests.ask(change),
    });
    return this.replication;
  }

  /** If the port cannot be opened, `apply` fails, and the manager sends the desired state again. */
  private async restrictPlainPort(isForThisMachineOnly: boolean): Promise<void> {
    if (isForThisMachineOnly === this.listener.isPlainForThisMachineOnly) return;
    await this.listener.listenForThisMachineOnly(isForThisMachineOnly);
    if (isForThisMachineOnly) this.clients.closeRemotePlain();
  }

  /** Waits for starts that are not in `before`: an earlier call has waited for those. */
  private async waitForStarts(before: ReadonlySet<Promise<void>>): Promise<void> {
    const newStarts = this.hosts.starts().filter((started) => !before.has(started));
    if (newStarts.length > 0) await atMost(this.clock, startWaitMs, Promise.all(newStarts));
  }
}
