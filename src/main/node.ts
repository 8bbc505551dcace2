// Assembles a node: creates its parts, starts them in the order of their dependencies, and stops them in the reverse.
import { join } from 'node:path';
import type { Authority } from '#auth/authority.ts';
import { realKdf } from '#auth/kdf.host.ts';
import type { SecretBox } from '#auth/secret-box.ts';
import { loopbackHosts } from '#base/loopback.ts';
import type { NodePorts } from '#cluster/config/cluster-state.ts';
import type { NodeIdentity } from '#cluster/config/node-identity.ts';
import { DistPorts } from '#cluster/dist/dist-ports.host.ts';
import { unknownPorts } from '#cluster/first-configuration.ts';
import type { NodeMembership } from '#cluster/joining/join-messages.ts';
import { type ClusterManager, createClusterManager } from '#cluster/manager.ts';
import type { Listener } from '#http/listener.host.ts';
import type { PipelineOptions } from '#http/pipeline.ts';
import { createHttpServer, type HttpServer } from '#http/server.ts';
import type { KvDesired, KvPorts, UserSpec } from '#kv/admin.ts';
import { WorkerKvAdmin } from '#kv/host/worker-kv-admin.ts';
import type { Metrics } from '#metrics/metrics.feature.ts';
import { ClientGate } from '#ports/client-gate.ts';
import { realClock } from '#ports/clock.ts';
import type { FilePlace } from '#ports/file-place.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { TlsSpec } from '#ports/tls.ts';
import type { PlannedCollections } from '#query/host/awaited-keyspaces.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { type BucketHealth, bucketHealthOf } from './bucket-health.ts';
import { listenWithTls } from './listen-with-tls.ts';
import { machineOf, serveNodes } from './node-net.ts';
import { type NodeOptions, nodeOptions, type PortOption } from './node-options.ts';
import { NodeQueryService } from './node-query-service.ts';
import { OpenPorts } from './open-ports.ts';
import { withOwnAccount } from './own-authority.ts';
import { metricsIn } from './own-metrics.ts';
import { OwnServices } from './own-services.ts';
import { dataPortOf, queryPortOf } from './port-of-error.ts';
import { release } from './release.ts';
import { type RestService, restServices } from './rest-services.ts';
import { untilListening } from './start-error.ts';

export interface NodeDeps {
  /** The secrets of the data folder. */
  secrets: SecretBox;
  /** The configuration store; the node closes it when it stops. */
  store: ConfigStore;
  identity: NodeIdentity;
  membership: NodeMembership;
  /** The lock of the data folder. */
  lock?: FilePlace;
  log: Log;
  onLost: (reason: Error) => void;
}

const drainTimeoutMs = 2_000;
const applyTimeoutMs = 120_000;

type ServeOptions = Pick<PipelineOptions, 'throttle' | 'forbidsRoleless' | 'sessions'>;

export class Node {
  readonly ports: NodePorts = { ...unknownPorts };
  private readonly options: NodeOptions;
  private readonly plain: Listener[] = [];
  /** The client allowlist at every port but those of the data service and the query service, whose threads have one each. */
  private readonly gate = new ClientGate();
  private stopped: Promise<void> | null = null;
  private readonly stops: { name: string; stop: () => unknown }[] = [];
  private readonly log: Log;
  private readonly lock: FilePlace | null;
  /** Makes the answers to logins of unknown users, the same after every start. */
  private readonly loginSecret: Uint8Array;
  private readonly onLost: (reason: Error) => void;
  /** Accounts of the data port for this process, kept in memory only. */
  private ownAccounts: UserSpec[] = [];
  private desired: KvDesired | null = null;
  private isStarting = true;
  private readonly kv: WorkerKvAdmin;
  /** Null if the node does not run the query service. */
  private query: NodeQueryService | null = null;
  private readonly store: ConfigStore;
  private readonly nodeId: string;
  private readonly services: OwnServices;
  readonly manager: ClusterManager;
  readonly metrics: Metrics;
  private readonly authority: Authority;

  constructor(options: NodeOptions, deps: NodeDeps) {
    const { secrets, store, lock, log, onLost } = deps;
    this.options = options;
    this.log = log;
    this.onLost = onLost;
    this.lock = lock ?? null;
    this.loginSecret = secrets.derivedKey('logins of nobody');
    this.kv = this.registered(
      'data service',
      new WorkerKvAdmin({
        log: log.child('kv'),
        onLost,
        onLoginRefused: (login) => this.manager.loginRefused(login, 'data'),
        verifyExternal: (name, password) => this.manager.verifyExternal(name, password),
        changeMap: (change) => this.manager.changeMap(change),
      }),
    );
    const { 'data-dir': dataFolder, 'operator-address': operatorAddress } = options;
    this.store = store;
    this.stops.push({ name: 'configuration', stop: () => this.store[Symbol.asyncDispose]() });
    this.metrics = this.registered('metrics', metricsIn(join(dataFolder, 'metrics'), log.child('metrics')));
    this.services = this.registered(
      'services',
      new OwnServices({ dataFolder, log, operatorAddress, host: () => this.localHost }),
    );
    this.manager = this.registered('manager', this.createManager(dataFolder, deps));
    this.authority = withOwnAccount(this.manager.authority, () => this.services.login);
    this.nodeId = deps.identity.nodeId;
  }

  /** Opens every port, REST first, then each one when its dependencies are up. Queries wait for the `planned` collections. */
  async start(planned: readonly PlannedCollections[] = []): Promise<void> {
    const { manager, ports } = this;
    manager.certificates.ready.catch(() => {}); // awaited below, after parts that take longer
    await Promise.all([manager.open(), this.services.prepare()]);
    this.followClients();
    const data = this.startData();
    const ofConsole = { throttle: manager.throttles.rest, sessions: manager.sessions };
    const rest = await this.serve(manager.routes, ofConsole);
    const capi = await this.serve(manager.capiRoutes, { throttle: manager.throttles.capi });
    const services = await this.restServices();
    const dist = this.distPorts();
    ports.mgmt = (await this.listenPlain(rest, 'rest-port')).port;
    // Starts threads one after the other: loading them at once would delay the first answer.
    const query = data.then(() => this.startQuery(planned));
    query.catch(() => {}); // awaited below, after parts that may fail first
    ports.capi = (await this.listenPlain(capi, 'capi-port')).port;
    for (const { server, option, port } of services)
      ports[port] = (await this.listenPlain(server, option)).port;
    ports.distTCP = await this.untilListening('dist-port', dist.startPlain());
    await manager.certificates.ready;
    this.registered('nodes', serveNodes(manager, dist));
    await this.startTls({ rest, capi }, dist);
    for (const service of services) await this.startServiceTls(service);
    await query;
    const { port, tlsPort, replicationPort: replication } = await data;
    this.services.dataListens(port);
    Object.assign(ports, { kv: port, kvSSL: tlsPort, replication });
    await this.followListening(dist);
    await manager.start(ports);
    for (const { start } of services) start?.();
  }

  /** An address that reaches the plain ports from this machine. */
  get localHost(): string {
    const { host } = this.options;
    if (this.manager.listening.isPlainForThisMachineOnly) return loopbackHosts(host)[0] as string;
    if (host === '0.0.0.0') return '127.0.0.1';
    return host === '::' ? '::1' : host;
  }

  /** Call when the node is ready: loads the stored metrics and collects new ones in the background. */
  startMetrics(): void {
    this.metrics.start();
  }

  /** Resolves with true once the data service has applied the configuration, with false if that takes too long. */
  applied(): Promise<boolean> {
    return this.manager.applied(applyTimeoutMs);
  }

  /** Adds accounts of this process to the data port until the next call. */
  async setOwnAccounts(accounts: UserSpec[]): Promise<void> {
    this.ownAccounts = accounts;
    if (this.desired !== null) await this.apply(this.desired);
  }

  /** Ends the readiness checks: removes their account and their addresses from the allowlist. */
  async endStart(): Promise<void> {
    this.isStarting = false;
    this.gate.admitOnly(this.withServices(this.admitted(this.manager.clients.admitted)));
    await this.setOwnAccounts([]);
  }

  async health(): Promise<BucketHealth> {
    return bucketHealthOf((await this.kv.report()).buckets);
  }

  /** Stops once, however often it is called: a signal may arrive while a failed start is undone. */
  stop(): Promise<void> {
    this.stopped ??= this.stopParts();
    return this.stopped;
  }

  private async stopParts(): Promise<void> {
    this.metrics.registry.ignoreFailures();
    for (const { name, stop } of this.stops.toReversed()) {
      try {
        await stop();
      } catch (error) {
        this.log.error('stop.failed', { part: name, reason: String(error) });
      }
    }
  }

  private createManager(dataFolder: string, { secrets, identity, membership }: NodeDeps): ClusterManager {
    const { options, log, kv, store } = this;
    return createClusterManager({
      ...machineOf(options, dataFolder, log.child('cluster')),
      store,
      identity,
      membership,
      kv: {
        apply: (desired) => this.apply(desired),
        followMap: (map) => kv.followMap(map),
        report: (bucketUuid) => kv.report(bucketUuid),
        activityCount: () => kv.activityCount(),
        randomKey: (bucket) => kv.randomKey(bucket),
        shardPositions: (uuid) => kv.shardPositions(uuid),
        compact: (uuid, request) => kv.compact(uuid, request),
        cancelCompaction: (uuid, origin) => kv.cancelCompaction(uuid, origin),
      },
      dataPort: () => this.services.access(),
      queryPort: () => this.addressOf(this.query === null ? undefined : this.ports.n1ql),
      indexes: this.services.index,
      xdcr: this.services.xdcr,
      backupPort: () => this.addressOf(this.ports.backupAPI),
      backupTasks: () => this.services.backupTasks(),
      kdf: realKdf,
      secrets,
      clock: realClock,
      random: realRandom,
      log: log.child('cluster'),
      edition: options.edition,
      wireNames: options['wire-names'],
      release,
      dataFolder,
      metrics: this.metrics,
      operatorAddress: options['operator-address'],
      startedServices: options.services.split(','),
    });
  }

  private followClients(): void {
    const { clients } = this.manager;
    const follow = () => this.gate.admitOnly(this.withServices(this.admitted(clients.admitted)));
    follow();
    this.registered('clients', clients.onChange(follow));
  }

  private async apply(desired: KvDesired) {
    this.desired = desired;
    const clients = this.withServices(this.admitted(desired.clients ?? null));
    const users = [...desired.users, ...this.services.accounts, ...this.ownAccounts];
    this.query?.expect(desired);
    const report = await this.kv.apply({ ...desired, clients, users });
    this.services.followCluster(desired);
    await this.query?.follow(desired, {
      ports: this.ports,
      clients,
      tls: this.manager.queryTls.current(),
      plainForThisMachineOnly: desired.plainForThisMachineOnly ?? false,
      version: this.manager.product.version,
      settings: this.manager.querySettings(),
      curl: this.manager.curlAllowlist(),
      audit: this.manager.statementAuditing(),
    });
    return report;
  }

  private runs(service: string): boolean {
    return (this.manager.services() ?? this.options.services.split(',')).includes(service);
  }

  /** Starts the query service, if this node runs it, while the rest of the node starts. The engine's modules are loaded with the first statement. */
  private async startQuery(planned: readonly PlannedCollections[]): Promise<void> {
    const { options, manager, log, services, kv } = this;
    if (!this.runs('n1ql')) return;
    const parts = { options, services, kv, onLost: this.onLost, log: log.child('query') };
    const query = this.registered(
      'query service',
      new NodeQueryService({
        ...parts,
        authority: () => this.authority,
        definitions: manager,
        audited: (statement) => manager.statementEnded(statement),
        loginRefused: (login) => manager.loginRefused(login, 'query'),
        permissionRefused: (refusal) => manager.permissionRefused(refusal),
      }),
    );
    this.query = query;
    this.metrics.registry.add('query', { collect: () => query.metrics() });
    await manager.certificates.ready;
    const started = query.start({
      planned,
      tls: manager.queryTls.current(),
      plainForThisMachineOnly: manager.listening.isPlainForThisMachineOnly,
      clients: this.withServices(this.admitted(manager.clients.admitted)),
    });
    const { port, tlsPort } = await started.catch((error: Error) =>
      this.untilListening(queryPortOf(options, error), Promise.reject(error)),
    );
    Object.assign(this.ports, { n1ql: port, n1qlSSL: tlsPort });
  }

  /** How this process reaches a port of its own; null: it does not have the port. */
  private async addressOf(port: number | undefined) {
    if (port === undefined) return null;
    const { host, localAddress } = (await this.services.access()).address;
    return { host, port, localAddress };
  }

  /** Admits the readiness checks of this process; with an operator address they connect from that address, which is always admitted. */
  private admitted(clients: readonly string[] | null): readonly string[] | null {
    const isOwnNeeded = this.isStarting && this.options['operator-address'] === undefined;
    return clients === null || !isOwnNeeded ? clients : [...clients, '127.0.0.0/8', '::1', this.localHost];
  }

  /** Admits the services of this process: they call the data port and, for CREATE SCOPE, the REST API; the REST API forwards statements to the query port. */
  private withServices(clients: readonly string[] | null): readonly string[] | null {
    return clients && [...clients, ...this.services.admitted];
  }

  private startData(): Promise<KvPorts> {
    const { options } = this;
    const started = this.kv.start({
      dataDir: options['data-dir'],
      host: options.host,
      port: options['kv-port'],
      tlsPort: options['kv-tls-port'],
      replicationPort: options['replication-port'],
      isReplicationPortPreferred: options['replication-port'] === nodeOptions['replication-port'].default,
      plainForThisMachineOnly: this.manager.listening.isPlainForThisMachineOnly,
      clients: this.withServices(this.admitted(this.manager.clients.admitted)),
      version: this.manager.product.version,
      logLevel: options['log-level'],
      ...(this.lock && { lock: { path: this.lock.path, identity: this.lock.identity } }),
      loginSecret: this.loginSecret,
    });
    const opened = started.catch((error: Error) =>
      this.untilListening(dataPortOf(options, error), Promise.reject(error)),
    );
    opened.catch(() => {}); // awaited later, after parts that may fail first
    return opened;
  }

  private async serve(routes: ClusterManager['routes'], options: ServeOptions): Promise<HttpServer> {
    const { hooks, meter } = this.manager;
    const log = this.log.child('rest');
    const parts = { routes, authority: this.authority, hooks, log, clock: realClock, meter };
    const server = await createHttpServer({ ...parts, ...options });
    this.stops.push({ name: 'rest', stop: () => server.stop(drainTimeoutMs) });
    return server;
  }

  /** Listens on loopback from the start if other machines must encrypt. */
  private async listenPlain(server: HttpServer, option: PortOption): Promise<Listener> {
    const isOnly = this.manager.listening.isPlainForThisMachineOnly;
    const [host = this.options.host] = isOnly ? loopbackHosts(this.options.host) : [];
    const where = { host, port: this.options[option], gate: this.gate };
    const listener = await this.untilListening(option, server.listen(where));
    this.plain.push(listener);
    return listener;
  }

  private async followListening(dist: DistPorts): Promise<void> {
    const { plain, log } = this;
    const { listening } = this.manager;
    const { host } = this.options;
    const following = new OpenPorts({ listening, plain, dist, host, log, clock: realClock });
    this.stops.push({ name: 'listening', stop: () => following.stop() });
    await following.start();
  }

  private listenTls(server: HttpServer, option: PortOption, tls: TlsSpec): Promise<Listener> {
    const { host, [option]: port } = this.options;
    return this.untilListening(option, server.listen({ host, port, gate: this.gate, tls }));
  }

  private async startTls(
    { rest, capi }: { rest: HttpServer; capi: HttpServer },
    dist: DistPorts,
  ): Promise<void> {
    const opened = await listenWithTls(this.manager.tls, async (tls) => {
      const mgmt = await this.listenTls(rest, 'rest-tls-port', tls);
      const secureCapi = await this.listenTls(capi, 'capi-tls-port', tls);
      const distTLS = await this.untilListening('dist-tls-port', dist.startTls(tls));
      Object.assign(this.ports, { mgmtSSL: mgmt.port, capiSSL: secureCapi.port, distTLS });
      return [mgmt, secureCapi, dist];
    });
    this.registered('certificates', opened);
  }

  private restServices(): Promise<RestService[]> {
    const { options, manager, services, store, nodeId, ports, log, metrics } = this;
    const parts = { options, manager, services, store, nodeId, log, metrics };
    return restServices({
      ...parts,
      restPort: () => ports.mgmt,
      runs: (service) => this.runs(service),
      serve: (routes) => this.serve(routes, { throttle: manager.throttles.rest, forbidsRoleless: true }),
      registered: (name, part) => this.registered(name, part),
    });
  }

  /** Opens the TLS port of a service, which may have other TLS settings than the REST API. */
  private async startServiceTls({ server, tlsOption, tlsPort, tls }: RestService): Promise<void> {
    const opened = await listenWithTls(tls, async (spec) => {
      const listener = await this.listenTls(server, tlsOption, spec);
      this.ports[tlsPort] = listener.port;
      return [listener];
    });
    this.registered(`certificates of ${tlsOption}`, opened);
  }

  private distPorts(): DistPorts {
    const { options } = this;
    const greeting = `Divan ${this.manager.product.version}\r\n`;
    return this.registered(
      'dist',
      new DistPorts({
        host: options.host,
        port: options['dist-port'],
        tlsPort: options['dist-tls-port'],
        greeting,
        gate: this.gate,
      }),
    );
  }

  /** Waits for a listener; an error names the option of its port. */
  private untilListening<T>(option: PortOption, opened: Promise<T>): Promise<T> {
    return untilListening(option, this.options.host, this.options[option], opened);
  }

  /** Registers a part, which stops with the node; the last one registered stops first. */
  private registered<T extends { stop(): unknown }>(name: string, part: T): T {
    this.stops.push({ name, stop: () => part.stop() });
    return part;
  }
}
