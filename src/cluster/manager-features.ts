// The features of the cluster manager and how they depend on each other. They are created here; manager.ts starts and stops them.
import { Agent } from './agent/agent.ts';
import { createAlerts } from './alerts.feature.ts';
import { AuditLog } from './audit/audit-log.ts';
import { defaultAuditSettings } from './audit/audit-settings.ts';
import { AutoCompactor } from './auto-compaction/auto-compactor.ts';
import { localTimeOfDay } from './auto-compaction/compaction-decision.ts';
import { BucketMaps } from './buckets/bucket-maps.ts';
import { BucketsService } from './buckets/buckets.service.ts';
import { BucketsStore } from './buckets/buckets.store.ts';
import { everyNode } from './buckets/every-node.ts';
import { createCertificates } from './certificates/certificates.feature.ts';
import { ClientAllowlist } from './client-allowlist/client-allowlist.ts';
import { CollectionsService } from './collections/collections.service.ts';
import { applyWaitMs } from './config/apply-wait.ts';
import { ClusterView } from './config/cluster-view.ts';
import { productOf } from './config/product.ts';
import { SettingsStore } from './config/settings.store.ts';
import { WatchedSetting } from './config/watched-setting.ts';
import { ListenPolicy } from './encryption/listen-policy.ts';
import { createEvents } from './events/events.feature.ts';
import { FunctionsService } from './functions/functions.service.ts';
import { LibrariesService } from './functions/libraries.service.ts';
import { IndexNodes } from './indexes/index-nodes.ts';
import { IndexesService } from './indexes/indexes.service.ts';
import { noIndexService } from './indexes/no-index-service.ts';
import { limitsEnforcement } from './internal-settings/internal-settings.ts';
import { directoryUsers, LdapService, ldapKeys } from './ldap/ldap.service.ts';
import { LogCollection } from './log-collection/log-collection.ts';
import type { ClusterManagerOptions } from './manager-options.ts';
import { createManagerMetrics } from './metrics/metrics.feature.ts';
import { createNodes } from './nodes.feature.ts';
import { StatisticsService } from './optimizer-statistics/statistics.service.ts';
import { Orchestration } from './orchestrator/orchestration.ts';
import { passwordPolicySetting } from './password-policy/password-policy.routes.ts';
import type { InterNode } from './peers/inter-node.ts';
import { QueryNodes } from './query-nodes/query-nodes.ts';
import { SampleLoader } from './samples/sample-loader.ts';
import { noSampleLoads, sampleLoadsSetting } from './samples/sample-loads.ts';
import { SamplesService } from './samples/samples.service.ts';
import { createSecurity } from './security/security.feature.ts';
import { targetsOf } from './users/role-targets.ts';
import { createUsers } from './users/users.feature.ts';
import { Xdcr } from './xdcr/xdcr.feature.ts';

export type Features = ReturnType<typeof createFeatures>;

/** Created in order of their dependencies; references to later parts are resolved when they are used. */
export function createFeatures(options: ClusterManagerOptions) {
  const { store, environment } = options;
  const view = new ClusterView(store, options.identity.nodeId, environment);
  const policy = passwordPolicySetting(store);
  const ldap = new LdapService({
    ...options,
    settings: new SettingsStore(store),
    keys: ldapKeys(store),
    server: options.directoryServer(() => certificates.service.trusted()),
    applied: () => data.caughtUp(applyWaitMs),
  });
  const directory = directoryUsers(ldap, view);
  const verifyExternal = (name: string, password: string) => ldap.verify(name, password);
  const users = createUsers({
    ...options,
    verifyExternal,
    directory,
    enforcement: limitsEnforcement(view),
    targets: targetsOf(view),
    passwordPolicy: () => policy.value,
    applied: () => data.caughtUp(applyWaitMs),
  });
  const certificates = createCertificates({
    ...options,
    view,
    suites: () => security.service,
    suitesProblem: (keyKind) => security.service.problemWith(keyKind),
    expiring: (text) => events.log.record('certificate_expiring', { text }),
  });
  const security = createSecurity({
    ...options,
    view,
    certificates: certificates.service,
    certificateUpload: certificates.remoteRootUpload,
    insecureReferences: () => xdcr.references.insecure(),
  });
  const clients = new ClientAllowlist(store, options.operatorAddress);
  const nodesFeature = createNodes(options, view);
  const { interNode, nodeCertificates, founderChange, founderHandover, engineMove } = nodesFeature;
  view.whenRemoved(() => options.membership?.leave());
  const listening = new ListenPolicy({ view, security: security.service, nodeCertificates });
  const data = new Agent({
    ...options,
    view,
    listening,
    clients,
    users: users.identities,
    tls: security.tlsFor('data'),
    nodeTls: nodesFeature.nodeTls,
  });
  const product = productOf(options.release, options.edition);
  const { nodeFigures, snapshots } = nodesFeature.describeNodes({ ...options, view, data, product });
  const identityOf = (name: string) => users.identities.find(name)?.identity ?? null;
  const { auditLog, auditSettings } = auditOf(options, () => alertWatch.auditFailed());
  const events = createEvents({
    ...options,
    nodes: () => view.cluster.nodes,
    nodeId: options.identity.nodeId,
    peers: interNode.peers,
    view,
    data,
    identityOf,
    auditLog,
    onNotStored: () => alertWatch.auditFailed(),
  });
  const { alerts, alertList, alertWatch, sharedAlerts } = createAlerts(options, {
    view,
    data,
    auditLog,
    events: events.log,
    trusted: () => certificates.service.trusted(),
    peers: () => orchestration.peerHealth,
    connections: interNode.peers,
  });
  const orchestration = new Orchestration({
    ...options,
    view,
    data,
    alerts,
    peers: interNode.peers,
    events: events.log,
    founderChange,
  });
  const isDown = (id: string) => orchestration.isDown(id);
  const { indexAdmin, indexes, indexNodes } = indexesOf(options, view, interNode, isDown);
  const { nodeId } = options.identity;
  const functions = new FunctionsService({ ...options, view });
  const libraries = new LibrariesService({ ...options, view });
  const queryNodes = new QueryNodes({
    ...options,
    view,
    nodeId,
    peers: interNode.peers,
    isDown,
  });
  queryNodes.follow('functions', functions);
  queryNodes.follow('libraries', libraries);
  const statistics = new StatisticsService({ ...options, view });
  const xdcr = new Xdcr({
    ...options,
    view,
    nodeId,
    peers: interNode.peers,
    encryptionLevel: () => security.service.encryptionLevel,
  });
  const silentMs = (id: string) => orchestration.silentMs(id);
  const dataOfAllNodes = everyNode({ ...options, view, nodeId, data, peers: interNode.peers, silentMs });
  const buckets = new BucketsService({
    ...options,
    view,
    data: dataOfAllNodes,
    nodeFigures,
    isReplicated: (name) => xdcr.isSource(name),
    store: new BucketsStore(store),
    maps: new BucketMaps(store, nodeId),
    disk: () => options.system.disk(),
  });
  const collections = new CollectionsService({ ...options, view, data: dataOfAllNodes });
  const sampleLoads = new WatchedSetting(store, sampleLoadsSetting, noSampleLoads);
  const samples = new SamplesService({
    ...options,
    view,
    nodeId,
    loads: sampleLoads,
    events: events.log,
    loader: new SampleLoader({ ...options, view, buckets, collections, indexes, indexAdmin, indexNodes }),
  });
  return {
    view,
    buckets,
    collections,
    samples,
    sampleLoads,
    policy,
    users,
    ldap,
    security,
    clients,
    listening,
    data,
    interNode,
    nodeCertificates,
    product,
    nodeFigures,
    snapshots,
    orchestration,
    founderChange,
    founderHandover,
    engineMove,
    abandonedJoins: nodesFeature.abandonedJoins,
    events,
    alerts,
    alertList,
    alertWatch,
    sharedAlerts,
    auditSettings,
    auditLog,
    isUser: (name: string) => identityOf(name) !== null,
    certificates: { ...certificates, ready: readiness() },
    indexes,
    indexNodes,
    functions,
    libraries,
    queryNodes,
    statistics,
    xdcr,
    logCollection: new LogCollection(options),
    compactor: new AutoCompactor({ ...options, view, data, timeOfDay: localTimeOfDay }),
    metrics: createManagerMetrics({
      ...options,
      view,
      data,
      indexes,
      indexAdmin,
      xdcr,
      registry: options.metrics.registry,
    }),
  };
}

function auditOf(options: ClusterManagerOptions, failed: () => void) {
  const auditSettings = new WatchedSetting(options.store, 'audit', defaultAuditSettings);
  const auditLog = new AuditLog({
    ...options,
    settings: auditSettings,
    file: options.auditFile,
    folder: logFolder(options),
    failed,
  });
  return { auditLog, auditSettings };
}

function indexesOf(
  options: ClusterManagerOptions,
  view: ClusterView,
  { peers }: InterNode,
  isDown: (nodeId: string) => boolean,
) {
  const indexAdmin = options.indexes ?? noIndexService;
  const indexes = new IndexesService({ ...options, view, indexAdmin });
  const { nodeId } = options.identity;
  const indexNodes = new IndexNodes({ ...options, view, nodeId, peers, indexes, indexAdmin, isDown });
  return { indexAdmin, indexes, indexNodes };
}

export const logFolder = ({ dataFolder }: ClusterManagerOptions): string => `${dataFolder}/logs`;

function readiness(): PromiseWithResolvers<void> {
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {}); // the rejection reaches the callers of `ready`
  return ready;
}
