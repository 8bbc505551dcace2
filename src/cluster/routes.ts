// Creates the services of the cluster manager and collects all their routes.
import type { BoundRoute } from '#contract/route.ts';
import type { IndexServiceAdmin } from '#index/index.contract.ts';
import type { Metrics } from '#metrics/metrics.feature.ts';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { absentRoutes } from './absent/absent.routes.ts';
import { deleteFilesRecord } from './agent/created-files.ts';
import type { AlertList } from './alerts/alert-list.ts';
import { alertRoutes } from './alerts/alerts.routes.ts';
import type { AlertsService } from './alerts/alerts.service.ts';
import type { SharedAlerts } from './alerts/shared-alerts.ts';
import { autoCompactionRoutes } from './auto-compaction/auto-compaction.routes.ts';
import { AutoCompactionService } from './auto-compaction/auto-compaction.service.ts';
import { autoFailoverRoutes } from './auto-failover/auto-failover.routes.ts';
import { FailoverSettingsService } from './auto-failover/auto-failover.service.ts';
import { backupProxyRoutes } from './backup-proxy/backup-proxy.routes.ts';
import { bucketRoutes } from './buckets/buckets.routes.ts';
import type { BucketsService } from './buckets/buckets.service.ts';
import { BucketsStore } from './buckets/buckets.store.ts';
import type { Certificates } from './certificates/certificates.feature.ts';
import { certificateRoutes } from './certificates/certificates.routes.ts';
import { collectionRoutes } from './collections/collections.routes.ts';
import type { CollectionsService } from './collections/collections.service.ts';
import { ClusterStore } from './config/cluster.store.ts';
import type { Edition, Vocabulary } from './config/cluster-state.ts';
import type { ClusterView } from './config/cluster-view.ts';
import type { DataService } from './config/data-service.ts';
import type { NodeIdentity } from './config/node-identity.ts';
import { ownVersion } from './config/node-versions.ts';
import { clusterCompatibility, type Product } from './config/product.ts';
import { SettingsStore } from './config/settings.store.ts';
import { dataSettingsRoutes } from './data-settings/data-settings.routes.ts';
import { documentRoutes } from './documents/documents.routes.ts';
import { DocumentsService } from './documents/documents.service.ts';
import type { DataPortAccess } from './documents/open-bucket.ts';
import { NetworkService } from './encryption/network.service.ts';
import type { EngineMove } from './engine/engine-move.ts';
import type { FounderChange } from './founder/founder-change.ts';
import type { FounderHandover } from './founder/founder-handover.ts';
import type { IndexNodes } from './indexes/index-nodes.ts';
import { indexRoutes } from './indexes/indexes.routes.ts';
import type { IndexesService } from './indexes/indexes.service.ts';
import { internalSettingsRoutes } from './internal-settings/internal-settings.routes.ts';
import { AddingService } from './joining/adding.service.ts';
import { joiningRoutes } from './joining/joining.routes.ts';
import { JoiningService } from './joining/joining.service.ts';
import { noMembership, noNet } from './joining/no-membership.ts';
import type { AbandonedJoins } from './joining/remove-node.ts';
import type { LogCollection } from './log-collection/log-collection.ts';
import type { ClusterManagerOptions } from './manager-options.ts';
import type { NodeFigures } from './nodes/node-figures.ts';
import type { NodeSnapshots } from './nodes/node-snapshots.ts';
import { nodeRoutes } from './nodes/nodes.routes.ts';
import type { System } from './nodes/system.ts';
import { failoverRoutes } from './orchestrator/failover.routes.ts';
import { FailoverService } from './orchestrator/failover.service.ts';
import type { Orchestration } from './orchestrator/orchestration.ts';
import { rebalanceRoutes } from './orchestrator/rebalance.routes.ts';
import { RebalanceService } from './orchestrator/rebalance.service.ts';
import type { InterNode } from './peers/inter-node.ts';
import type { NodeCertificates } from './peers/node-certificates.ts';
import { poolRoutes } from './pools/pools.routes.ts';
import { IndexSettings } from './provisioning/index-settings.ts';
import { MemoryService } from './provisioning/memory.service.ts';
import { type HostEnvironment, NodeSetupService } from './provisioning/node-setup.service.ts';
import { provisioningRoutes } from './provisioning/provisioning.routes.ts';
import { type Administrators, ProvisioningService } from './provisioning/provisioning.service.ts';
import { StatsSettings } from './provisioning/stats-settings.ts';
import { queryProxyRoutes } from './query-settings/query-proxy.routes.ts';
import { querySettingsRoutes } from './query-settings/query-settings.routes.ts';
import { sampleRoutes } from './samples/samples.routes.ts';
import type { SamplesService } from './samples/samples.service.ts';
import type { SecurityService } from './security/security.service.ts';
import { serverGroupRoutes } from './server-groups/server-groups.routes.ts';
import { ServerGroupsService } from './server-groups/server-groups.service.ts';
import type { ServiceAddress } from './service-proxy.ts';
import type { Xdcr } from './xdcr/xdcr.feature.ts';
import { xdcrRoutes } from './xdcr/xdcr.routes.ts';

export interface ManagerRouteParts
  extends Pick<
    ClusterManagerOptions,
    'membership' | 'net' | 'callRemote' | 'portProblem' | 'log' | 'backupTasks' | 'startedServices'
  > {
  interNode: InterNode;
  abandonedJoins: AbandonedJoins;
  founderChange: FounderChange;
  founderHandover: FounderHandover;
  engineMove: EngineMove;
  orchestration: Orchestration;
  snapshots: NodeSnapshots;
  nodeFigures: NodeFigures;
  nodeCertificates: NodeCertificates;
  store: ConfigStore;
  buckets: BucketsService;
  collections: CollectionsService;
  samples: SamplesService;
  identity: NodeIdentity;
  view: ClusterView;
  data: DataService;
  system: System;
  environment: HostEnvironment;
  security: SecurityService;
  indexes: IndexesService;
  indexAdmin: IndexServiceAdmin;
  indexNodes: Pick<IndexNodes, 'onOtherNodes'>;
  alerts: AlertsService;
  alertList: AlertList;
  sharedAlerts: SharedAlerts;
  logCollection: LogCollection;
  certificates: Certificates;
  xdcr: Xdcr;
  administrators: Administrators;
  memoryBytes: () => number;
  dataPort: DataPortAccess;
  /** The query service of this node; absent: it runs none. */
  queryPort?: ServiceAddress;
  /** The backup service of this node. */
  backupPort?: ServiceAddress;
  product: Product;
  edition: Edition;
  wireNames: Vocabulary;
  clock: Clock;
  random: Random;
  metrics: Pick<Metrics, 'store' | 'watched'>;
}

const notHere: ServiceAddress = () => Promise.resolve(null);

export function managerRoutes(parts: ManagerRouteParts): BoundRoute[] {
  const isProvisioned = () => parts.administrators.administratorName() !== null;
  const { snapshots } = parts;
  return [
    ...setUpRoutes(parts, isProvisioned),
    ...poolRoutes({
      ...parts,
      snapshots,
      isProvisioned,
      warnings: () => parts.certificates.report.expiring(),
    }),
    ...nodeRoutes({ ...parts, snapshots }),
    ...bucketRoutes({
      ...parts,
      snapshots,
      service: parts.buckets,
      timeSeries: parts.metrics.store,
      watched: parts.metrics.watched,
      peers: parts.interNode.peers,
    }),
    ...collectionRoutes({ ...parts, service: parts.collections }),
    ...sampleRoutes(parts.samples),
    ...documentRoutes(new DocumentsService(parts)),
    ...alertRoutes(parts.alerts, parts.sharedAlerts),
    ...querySettingsRoutes({ ...parts, settings: new SettingsStore(parts.store) }),
    ...queryProxyRoutes(parts.queryPort ?? notHere),
    ...backupProxyRoutes(parts.backupPort ?? notHere),
    ...dataSettingsRoutes({ ...parts, settings: new SettingsStore(parts.store) }),
    ...internalSettingsRoutes(new SettingsStore(parts.store), parts.view),
    ...autoCompactionRoutes(new AutoCompactionService(new SettingsStore(parts.store), parts.edition)),
    ...autoFailoverRoutes({ ...parts, service: new FailoverSettingsService(new SettingsStore(parts.store)) }),
    ...certificateRoutes(parts),
    ...indexRoutes({ ...parts, settings: new SettingsStore(parts.store) }),
    ...joiningRoutes(joiningServices(parts, isProvisioned)),
    ...serverGroupRoutes({
      ...parts,
      service: new ServerGroupsService({
        ...parts,
        cluster: new ClusterStore(parts.store, parts.identity.nodeId),
      }),
    }),
    ...rebalanceRoutes({
      ...parts,
      service: new RebalanceService({
        ...parts,
        cluster: new ClusterStore(parts.store, parts.identity.nodeId),
        wake: () => parts.orchestration.wake(),
      }),
      settings: new SettingsStore(parts.store),
    }),
    ...failoverRoutes(
      new FailoverService({ ...parts, cluster: new ClusterStore(parts.store, parts.identity.nodeId) }),
    ),
    ...xdcrRoutes(parts.xdcr),
    ...absentRoutes(),
  ];
}

function setUpRoutes(parts: ManagerRouteParts, isProvisioned: () => boolean): BoundRoute[] {
  const cluster = new ClusterStore(parts.store, parts.identity.nodeId);
  const settings = new SettingsStore(parts.store);
  const stats = new StatsSettings(settings);
  const memory = new MemoryService({ ...parts, cluster, buckets: new BucketsStore(parts.store) });
  const nodeSetup = new NodeSetupService({ ...parts, cluster, isProvisioned });
  const indexes = new IndexSettings(settings, parts.edition);
  const network = new NetworkService({
    ...parts,
    cluster,
    families: parts.environment.families,
    encryptionLevel: () => parts.security.encryptionLevel,
    failsOver: async () =>
      isProvisioned() && (await new FailoverSettingsService(settings).autoFailover()).enabled,
  });
  const provisioning = new ProvisioningService({
    ...parts,
    cluster,
    memory,
    nodeSetup,
    network,
    stats,
    indexes,
  });
  return provisioningRoutes({ ...parts, provisioning, memory, nodeSetup, network, stats, indexes });
}

function joiningServices(parts: ManagerRouteParts, isProvisioned: () => boolean) {
  const common = {
    ...parts,
    isProvisioned,
    call: parts.callRemote,
    compatibility: clusterCompatibility,
    version: ownVersion,
    membership: parts.membership ?? noMembership,
    net: parts.net ?? noNet,
  };
  return {
    adding: new AddingService({
      ...common,
      cluster: new ClusterStore(parts.store, parts.identity.nodeId),
      certificates: parts.nodeCertificates,
      deleteFilesRecord: (nodeId) => deleteFilesRecord(parts.store, nodeId),
      peers: parts.interNode.peers,
      isLoopback: (host) => parts.environment.isLoopback(host),
    }),
    joining: new JoiningService(common),
  };
}
