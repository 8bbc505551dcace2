// The cluster as `/pools` and `/pools/default` show it. Of the published links, only those to paths that this version serves are included.
import type { ListedAlert } from '../alerts/alert-list.ts';
import type { AlertKind } from '../alerts/alert-settings.ts';
import { clusterCompaction, shownClusterCompaction } from '../auto-compaction/settings.ts';
import { collectionCountMax, scopeCountMax } from '../collections/collections.service.ts';
import type { StoredBucket } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { availableServices, type Product } from '../config/product.ts';
import { bucketCountMax } from '../internal-settings/internal-settings.ts';
import {
  identity,
  type NodeSnapshot,
  nodeRecord,
  nodeStatus,
  type StableNodeSnapshot,
  storageTotals,
} from '../nodes/node-record.ts';
import type { EncryptionLevel } from '../security/security-state.ts';
import { groupsRevision } from '../server-groups/groups.ts';
import { groupsPath } from '../server-groups/server-groups.contract.ts';
import { hasLostShards, isBalancedMap } from '../topology/balanced-map.ts';

export function poolsRecord(view: ClusterView, isProvisioned: boolean, product: Product) {
  const { uuid } = view.cluster;
  const pool = {
    name: 'default',
    uri: `/pools/default?uuid=${uuid}`,
    streamingUri: `/poolsStreaming/default?uuid=${uuid}`,
  };
  return {
    isAdminCreds: true,
    isROAdminCreds: false,
    isEnterprise: product.edition === 'enterprise',
    allowedServices: availableServices,
    isDeveloperPreview: false,
    packageVariant: 'npm',
    // Clients recognize an unprovisioned node by these empty lists.
    pools: isProvisioned ? [pool] : [],
    settings: isProvisioned ? { maxParallelIndexers: `/settings/maxParallelIndexers?uuid=${uuid}` } : [],
    uuid: isProvisioned ? uuid : [],
    ...versions(product),
  };
}

export const versions = (product: Product) => ({
  implementationVersion: product.version,
  componentsVersion: { ns_server: product.version },
});

export function poolRecord(
  view: ClusterView,
  nodes: readonly NodeSnapshot[],
  visible: readonly StoredBucket[],
  encryption: EncryptionLevel | null,
  alerts: readonly Alert[],
  alertsToken: string,
) {
  return {
    ...stablePool(view, visible, encryption, nodes),
    alerts,
    alertsSilenceURL: `/controller/resetAlerts?token=${alertsToken}&uuid=${view.cluster.uuid}`,
    nodes: nodes.map(nodeRecord),
    storageTotals: storageTotals(nodes, view.buckets),
  };
}

export interface Alert {
  msg: string;
  serverTime: string;
  disableUIPopUp: boolean;
}

/** Conditions for an administrator: problems of buckets, `warnings` of other components, and alerts that are also mailed (`raised`). */
export function alerts(
  nodes: readonly NodeSnapshot[],
  warnings: readonly string[],
  raised: readonly ListedAlert[],
  popUps: readonly AlertKind[],
  wallMs: number,
): Alert[] {
  const serverTime = new Date(wallMs).toISOString();
  const problems = nodes.flatMap(({ measured }) =>
    [...measured.values()].flatMap((bucket) => bucket?.problems ?? []),
  );
  return [
    ...[...problems, ...warnings].map((msg) => ({ msg, serverTime, disableUIPopUp: false })),
    ...raised.map(({ text, atMs, kind }) => ({
      msg: text,
      serverTime: new Date(atMs).toISOString(),
      disableUIPopUp: !popUps.includes(kind),
    })),
  ];
}

/** The pool without figures: streams send it only after a change of the configuration or of a status. */
export function streamedPool(
  view: ClusterView,
  nodes: readonly StableNodeSnapshot[],
  visible: readonly StoredBucket[],
  encryption: EncryptionLevel | null,
) {
  return {
    ...stablePool(view, visible, encryption, nodes),
    nodes: nodes.map((snapshot) => ({ ...identity(snapshot, '/'), status: nodeStatus(snapshot) })),
  };
}

function stablePool(
  view: ClusterView,
  visible: readonly StoredBucket[],
  encryption: EncryptionLevel | null,
  nodes: readonly StableNodeSnapshot[],
) {
  const { cluster, buckets } = view;
  const version = view.clusterRevision();
  return {
    name: 'default',
    buckets: {
      uri: `/pools/default/buckets?v=${version}&uuid=${cluster.uuid}`,
      terseBucketsBase: '/pools/default/b/',
      terseStreamingBucketsBase: '/pools/default/bs/',
    },
    bucketNames: visible.map(({ name, uuid }) => ({ bucketName: name, uuid })),
    controllers: {
      ...membershipCalls(cluster.uuid),
      setAutoCompaction: autoCompactionCall(cluster.uuid),
      clusterLogsCollection: {
        startURI: `/controller/startLogsCollection?uuid=${cluster.uuid}`,
        cancelURI: `/controller/cancelLogsCollection?uuid=${cluster.uuid}`,
      },
      replication: {
        createURI: `/controller/createReplication?uuid=${cluster.uuid}`,
        validateURI: '/controller/createReplication?just_validate=1',
      },
    },
    rebalanceStatus: cluster.balance === undefined ? 'none' : 'running',
    rebalanceProgressUri: '/pools/default/rebalanceProgress',
    stopRebalanceUri: `/controller/stopRebalance?uuid=${cluster.uuid}`,
    ...(nodes.some(({ serverGroup }) => serverGroup !== null) && {
      serverGroupsUri: `${groupsPath}?v=${groupsRevision(cluster)}`,
    }),
    nodeStatusesUri: '/nodeStatuses',
    nodeServicesUri: `/pools/default/nodeServices?v=${version}`,
    remoteClusters: {
      uri: `/pools/default/remoteClusters?uuid=${cluster.uuid}`,
      validateURI: '/pools/default/remoteClusters?just_validate=1',
    },
    tasks: { uri: `/pools/default/tasks?v=${version}` },
    trustedCAsURI: `/pools/default/trustedCAs?v=${version}`,
    checkPermissionsURI: `/pools/default/checkPermissions?v=${version}`,
    maxBucketCount: bucketCountMax(view),
    maxCollectionCount: collectionCountMax,
    maxScopeCount: scopeCountMax,
    autoCompactionSettings: shownClusterCompaction(clusterCompaction(view)),
    counters: cluster.counters ?? {},
    clusterName: cluster.name,
    clusterEncryptionLevel: encryption ?? 'none',
    balanced: isBalanced(view),
    memoryQuota: buckets.memoryQuotaMb,
    ...cluster.quotas,
  };
}

/**
 * A node that waits for a rebalance makes the cluster unbalanced, and so do changes of groups and of numbers of replicas, and a
 * rebalance that did not finish.
 */
export function isBalanced(view: ClusterView): boolean {
  const { balance, needsRebalance, nodes } = view.cluster;
  if (balance !== undefined || needsRebalance) return false;
  return nodes.every(({ membership }) => membership === 'active') && hasBalancedMaps(view);
}

function hasBalancedMaps(view: ClusterView): boolean {
  const ids = view.dataNodes.map(({ uuid }) => uuid);
  return view.liveBuckets().every(({ uuid, replicaNumber }) => {
    const map = view.map(uuid);
    if (map === null) return true;
    return ids.length < 2 ? !hasLostShards(map) : isBalancedMap(map, ids, replicaNumber);
  });
}

/** The paths of the calls that change the nodes of the cluster. */
const membershipCalls = (clusterUuid: string): Record<string, { uri: string }> =>
  Object.fromEntries(
    [
      ['addNode', 'addNodeV2'],
      ...[
        'rebalance',
        'failOver',
        'reAddNode',
        'reFailOver',
        'ejectNode',
        'setRecoveryType',
        'startGracefulFailover',
      ].map((name) => [name, name]),
    ].map(([name, call]) => [name, { uri: `/controller/${call}?uuid=${clusterUuid}` }]),
  );

const autoCompactionCall = (clusterUuid: string) => {
  const uri = `/controller/setAutoCompaction?uuid=${clusterUuid}`;
  return { uri, validateURI: `${uri}&just_validate=1` };
};
