// The cluster manager of one node: configuration, services, routes, and the agent that applies the configuration to the data service.
//
//   const manager = createClusterManager({ store, kv, ...machinePorts({ dataFolder, listenHost, clock }), ... });
//   await manager.open();                          // reads the configuration; routes answer
//   const { authority, sessions, hooks, throttles } = manager;
//   createHttpServer({ routes: manager.routes, authority, sessions, hooks, throttle: throttles.rest, log, clock });
//   createHttpServer({ routes: manager.capiRoutes, … });
//   await manager.start(ports);                    // with the actual ports; the data service follows the configuration from here
//   await manager.certificates.ready;              // then TLS listeners with `tls.current()`, and again on `tls.onChange`
//   await manager.stop();

import type { Authority } from '#auth/authority.ts';
import { readConsoleFile } from '#console/console-files.adapter.ts';
import { ConsoleSite } from '#console/console-site.ts';
import type { BoundRoute } from '#contract/route.ts';
import type { ClusterHooks } from '#http/pipeline.ts';
import type { RequestMeter } from '#http/request-meter.ts';
import { Sessions } from '#http/sessions.ts';
import type { Throttle } from '#http/throttle.ts';
import type { IndexDefinitions } from '#index/index.contract.ts';
import { rangeRoutes } from '#metrics/range/range.routes.ts';
import type { AuditedStatement, StatementAuditing } from '#query/audit.contract.ts';
import type {
  CurlAllowlist,
  FunctionDefinitions,
  FunctionLibraries,
  StatisticsStore,
} from '#query/query.contract.ts';
import type { Agent } from './agent/agent.ts';
import type { AlertWatch } from './alerts/alert-watch.ts';
import type { AlertSink } from './alerts/alerts.service.ts';
import { auditRoutes } from './audit/audit.routes.ts';
import { recordStatement, statementAuditing } from './audit/statements.ts';
import { BucketMaps } from './buckets/bucket-maps.ts';
import { capiRoutes } from './capi/capi.routes.ts';
import { clientAllowlistRoutes } from './client-allowlist/client-allowlist.routes.ts';
import type { ClientAllowlist } from './client-allowlist/client-allowlist.ts';
import type { NodePorts } from './config/cluster-state.ts';
import type { Product } from './config/product.ts';
import { SettingsStore } from './config/settings.store.ts';
import { servedSince } from './config/since.ts';
import type { ListenPolicy } from './encryption/listen-policy.ts';
import type { Events } from './events/events.feature.ts';
import { writeFirstConfiguration } from './first-configuration.ts';
import type { IndexNodes } from './indexes/index-nodes.ts';
import { indexServiceRoutes } from './indexes/index-service.routes.ts';
import { noIndexService } from './indexes/no-index-service.ts';
import { requestThrottles } from './internal-settings/request-throttles.ts';
import { ldapRoutes } from './ldap/ldap.routes.ts';
import { logCollectionRoutes } from './log-collection/log-collection.routes.ts';
import { createFeatures, type Features, logFolder } from './manager-features.ts';
import type { ClusterManagerOptions } from './manager-options.ts';
import { manualRoutes } from './manual/manual.routes.ts';
import { RangeNodes } from './metrics/range-nodes.ts';
import { withDescription } from './openapi/openapi.routes.ts';
import { OwnEntry } from './own-entry.ts';
import { passwordPolicyRoutes } from './password-policy/password-policy.routes.ts';
import type { InterNode } from './peers/inter-node.ts';
import type { NodeCertificates } from './peers/node-certificates.ts';
import type { QueryNodes } from './query-nodes/query-nodes.ts';
import {
  curlSetting,
  noCurl,
  type QuerySettings,
  querySetting,
  serviceSettings,
} from './query-settings/query-settings.ts';
import { managerRoutes } from './routes.ts';
import type { SecurityParts } from './security/security.feature.ts';
import { uiRoutes } from './ui/ui.routes.ts';

export interface ClusterManager {
  readonly routes: readonly BoundRoute[];
  /** Routes of the view ports, which have listeners of their own. */
  readonly capiRoutes: readonly BoundRoute[];
  /** Routes of the index service's ports, which have listeners of their own. */
  readonly indexRoutes: readonly BoundRoute[];
  /** The limits of concurrent requests: one for all REST ports, one for all view ports. */
  readonly throttles: { readonly rest: Throttle; readonly capi: Throttle };
  readonly authority: Authority;
  /** Sessions of the web console, for the REST ports. */
  readonly sessions: Sessions;
  /** Until the node is provisioned, only these credentials may set it up. */
  reserveFor(administrator: { readonly username: string; readonly password: string }): void;
  readonly hooks: ClusterHooks;
  readonly certificates: {
    readonly ready: Promise<void>;
    /** PEM of every authority that the cluster trusts. */
    trusted(): Promise<string[]>;
  };
  /** Counts the requests of all REST ports. */
  readonly meter: RequestMeter;
  /** TLS options for the listeners of the REST and the view ports. */
  readonly tls: ReturnType<SecurityParts['tlsFor']>;
  /** TLS options for the listener of the query service. */
  readonly queryTls: ReturnType<SecurityParts['tlsFor']>;
  /** TLS options for the listener of the index service. */
  readonly indexTls: ReturnType<SecurityParts['tlsFor']>;
  /** TLS options for the listener of the backup service. */
  readonly backupTls: ReturnType<SecurityParts['tlsFor']>;
  /** Whether this node runs the scheduled backups: of the active nodes with the backup service, the one with the lowest id. */
  runsBackupSchedule(): boolean;
  /** The node's services; null until they are chosen. Known after `open`. */
  services(): readonly string[] | null;
  /** Settings of the query service, under its own names. Known after `open`. */
  querySettings(): Record<string, unknown>;
  /** Which addresses CURL() may read. Known after `open`. */
  curlAllowlist(): CurlAllowlist;
  /** Which statements the audit log records. Known after `open`. */
  statementAuditing(): StatementAuditing;
  /** The query service reports each of these statements here when it has ended. */
  statementEnded(statement: AuditedStatement): void;
  /** This node's part in connections between nodes; known after `open`. */
  readonly interNode: Pick<InterNode, 'accept' | 'peers'>;
  /** The certificate by which other nodes identify this one; null while it is alone. */
  readonly nodeCertificates: Pick<NodeCertificates, 'ownCredentials' | 'onChange'>;
  /** Which addresses each port listens on; known after `open`. */
  readonly listening: ListenPolicy;
  /** Which client addresses may connect; known after `open`. */
  readonly clients: Pick<ClientAllowlist, 'admitted' | 'onChange'>;
  /** Definitions of indexes; known after `open`. */
  readonly indexes: IndexDefinitions;
  /** The index services of the other nodes. */
  readonly indexNodes: Pick<IndexNodes, 'readyOnOtherNodes' | 'goneFromOtherNodes'>;
  /** Functions that statements have created (CREATE FUNCTION); known after `open`. */
  readonly functions: FunctionDefinitions;
  /** JavaScript code of such functions; known after `open`. */
  readonly libraries: FunctionLibraries;
  /** The query services of all nodes. */
  readonly queryNodes: Pick<
    QueryNodes,
    'all' | 'prepared' | 'discardPrepared' | 'rows' | 'rowsAfter' | 'remove' | 'serve'
  >;
  /** Statistics of the query planner; known after `open`. */
  readonly statistics: StatisticsStore;
  readonly product: Product;
  /** Takes reports of problems that operators get by mail. */
  readonly alerts: AlertSink;
  /** Takes reports of failed backups, which operators get by mail and in the list of alerts. */
  readonly alertWatch: Pick<AlertWatch, 'backupFailed'>;
  /** Takes reports of events. */
  readonly events: Events['log'];
  /** Services with ports of their own report each failed login here. */
  loginRefused: Events['audit']['loginRefused'];
  /** The query service reports each request here that was refused for a missing permission. */
  permissionRefused: Events['audit']['permissionRefused'];
  /** Whether an external user has that password; called by the data service. */
  verifyExternal(name: string, password: string): Promise<boolean>;
  /** Makes a change of a bucket's map; called by the data service. */
  changeMap: Agent['changeMap'];
  /** Reads the configuration, or writes the initial one. */
  open(): Promise<void>;
  /** Publishes the node's actual ports to clients, and starts the agent. */
  start(ports: NodePorts): Promise<void>;
  /** True once the data service runs the current configuration. */
  applied(timeoutMs: number): Promise<boolean>;
  stop(): Promise<void>;
}

export function createClusterManager(options: ClusterManagerOptions): ClusterManager {
  const features = createFeatures(options);
  const sessions = new Sessions(options);
  const { view, product, users, certificates, security, clients, listening, events, alerts, metrics } =
    features;
  return {
    routes: withDescription(restRoutes(options, features, sessions), product.version).sort(byPath),
    capiRoutes: capiRoutes({ view, product }),
    indexRoutes: indexServiceRoutes({
      view,
      indexes: features.indexes,
      indexAdmin: options.indexes ?? noIndexService,
      settings: new SettingsStore(options.store),
    }),
    throttles: requestThrottles({ ...options, view }),
    authority: users.authenticator,
    sessions,
    reserveFor: ({ username, password }) => users.authenticator.reserveFor(username, password),
    hooks: {
      clusterUuid: () => view.cluster.uuid,
      bucketUuid: (name) => view.liveBucket(name)?.uuid ?? null,
      ...security.hooks,
      audit: events.audit,
    },
    certificates: {
      ready: certificates.ready.promise,
      trusted: () => certificates.service.trusted(),
    },
    meter: metrics.meter,
    tls: security.tlsFor('clusterManager'),
    queryTls: security.tlsFor('query'),
    indexTls: security.tlsFor('index'),
    backupTls: security.tlsFor('backup'),
    runsBackupSchedule: () => {
      const running = view.activeNodes.filter(({ services }) => services?.includes('backup') === true);
      return running.map(({ uuid }) => uuid).sort()[0] === options.identity.nodeId;
    },
    services: () => view.self.services,
    querySettings: () => serviceSettings(view.setting<QuerySettings>(querySetting, {})),
    curlAllowlist: () => view.setting<CurlAllowlist>(curlSetting, noCurl),
    statementAuditing: () => statementAuditing(features.auditSettings.value),
    statementEnded: (statement) => recordStatement(features.auditLog, statement),
    listening,
    clients,
    indexes: features.indexes,
    indexNodes: features.indexNodes,
    functions: features.functions,
    libraries: features.libraries,
    queryNodes: features.queryNodes,
    statistics: features.statistics,
    product,
    alerts,
    alertWatch: features.alertWatch,
    events: events.log,
    loginRefused: (login, service) => events.audit.loginRefused(login, service),
    permissionRefused: (refusal) => events.audit.permissionRefused(refusal),
    verifyExternal: (name, password) => features.ldap.verify(name, password),
    changeMap: (change) => features.data.changeMap(change),
    interNode: features.interNode,
    nodeCertificates: features.nodeCertificates,
    ...startAndStop(options, features),
  };
}

function restRoutes(options: ClusterManagerOptions, features: Features, sessions: Sessions): BoundRoute[] {
  const { view, policy, users, security, clients, data, events, metrics } = features;
  const { snapshots, interNode } = features;
  const { clock, metrics: ownMetrics } = options;
  const rangeNodes = new RangeNodes({ source: ownMetrics.store, snapshots, peers: interNode.peers, clock });
  const routes: BoundRoute[] = [
    ...managerRoutes({
      ...options,
      ...features,
      metrics: ownMetrics,
      indexAdmin: options.indexes ?? noIndexService,
      security: security.service,
      administrators: users.service,
    }),
    ...users.routes,
    ...ldapRoutes(features.ldap, options.edition),
    ...auditRoutes({
      ...options,
      ...features,
      settings: features.auditSettings,
      log: features.auditLog,
      file: options.auditFile,
    }),
    ...passwordPolicyRoutes(policy),
    ...clientAllowlistRoutes({ allowlist: clients, data }),
    ...security.routes,
    ...uiRoutes({ security: security.service, site: new ConsoleSite(readConsoleFile), sessions }),
    ...manualRoutes(options.clock),
    ...events.routes,
    ...metrics.routes,
    ...rangeRoutes({ clock, nodesOf: (context) => rangeNodes.nodesFor(context) }),
  ];
  const bundles = logCollectionRoutes({
    ...options,
    ...features,
    routes,
    files: options.bundleFiles,
    events: events.log,
    settings: new SettingsStore(options.store),
    logFolder: logFolder(options),
    audit: features.auditLog,
    userNames: () => users.identities.allNames(),
  });
  return [...routes, ...bundles].map((route) => servedSince(route, view));
}

function startAndStop(
  options: ClusterManagerOptions,
  features: Features,
): Pick<ClusterManager, 'open' | 'start' | 'applied' | 'stop'> {
  const { view, policy, users, certificates, security, clients, data, events, compactor } = features;
  const { alerts, alertWatch } = features;
  const { ready } = certificates;
  const ownEntry = new OwnEntry(options);
  /** Services that watch keys of the configuration from `start` to `stop`. */
  const followers = [
    users,
    policy,
    certificates.clientAuth,
    security,
    clients,
    features.indexes,
    features.functions,
    features.libraries,
    features.statistics,
    features.auditSettings,
    features.nodeCertificates,
    features.xdcr,
    features.sampleLoads,
    features.ldap,
  ];
  return {
    async open() {
      await writeFirstConfiguration(options);
      await new BucketMaps(options.store, options.identity.nodeId).addMissing();
      await view.start();
      await Promise.all(followers.map((follower) => follower.start()));
      features.interNode.start();
      features.nodeFigures.start();
      certificates.service.start().then(ready.resolve, ready.reject);
      ready.promise.then(() => certificates.expiry.start(), ready.reject);
    },
    async start(ports) {
      await ownEntry.start(ports);
      data.start();
      features.indexes.follow();
      features.xdcr.follow();
      features.orchestration.start();
      features.engineMove.start();
      events.start(features.product);
      compactor.start();
      alertWatch.start();
      features.abandonedJoins.start();
      features.samples.resume();
    },
    applied: (timeoutMs) => data.applied(view.latestRevision(), timeoutMs),
    async stop() {
      ownEntry.stop();
      await features.samples.stop();
      features.abandonedJoins.stop();
      alertWatch.stop();
      await features.logCollection.cancel();
      events.stop();
      features.auditLog.close();
      compactor.stop();
      await alerts.stop();
      await features.engineMove.stop();
      await data.stop();
      features.orchestration.stop();
      features.nodeFigures.stop();
      await features.interNode.stop();
      certificates.expiry.stop();
      await certificates.service.stop();
      for (const follower of followers) await follower.stop();
      view.stop();
      options.log.debug('cluster.stopped');
    },
  };
}

const byPath = (a: BoundRoute, b: BoundRoute): number =>
  `${a.route.path} ${a.route.method}` < `${b.route.path} ${b.route.method}` ? -1 : 1;
