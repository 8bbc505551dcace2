// Node records, as `/pools/default`, `/nodes/...` and bucket records carry them.

import { urlHost } from '#base/host-and-port.ts';
import { capiPath, shownAlternate } from '../bootstrap/terse-config.ts';
import type { BucketMap, BucketsState, NodeState, StoredBucket } from '../config/cluster-state.ts';
import type { MeasuredBucket } from '../config/data-service.ts';
import { networkOf, restAddressOf } from '../config/node-network.ts';
import { clusterCompatibility } from '../config/product.ts';
import { type SystemFigures, usedShare } from './system.ts';

export type NodeStatus = 'healthy' | 'warmup' | 'unhealthy';

/** The facts about a node that streams show: its configuration, and what its status depends on. */
export interface StableNodeSnapshot {
  node: NodeState;
  /** True for the node that answers the request. */
  isThis: boolean;
  /** False for a node that this one cannot reach. */
  isAnswering: boolean;
  version: string;
  os: string;
  /** The name of its server group; null: the edition has none. */
  serverGroup: string | null;
  /** The local address of the client's connection: shown as the host of a node without a name. */
  localAddress: string;
  /** Figures of all live buckets, by uuid; null before the first report. */
  measured: ReadonlyMap<string, MeasuredBucket | null>;
}

/** All facts about the node at one time. */
export interface NodeSnapshot extends StableNodeSnapshot {
  uptimeSeconds: number;
  system: SystemFigures;
}

const mib = 1024 * 1024;

/** The host under which the client reaches the node. */
export const nodeHost = (snapshot: Pick<StableNodeSnapshot, 'node' | 'localAddress'>): string =>
  urlHost(snapshot.node.hostname ?? snapshot.localAddress);

export const nodeAddress = (snapshot: Pick<StableNodeSnapshot, 'node' | 'localAddress'>): string =>
  `${nodeHost(snapshot)}:${snapshot.node.ports.mgmt}`;

/** Addresses under which clients reach the node: the plain port, and the TLS port. */
export function nodeNames(node: NodeState, localAddress: string): [string, string] {
  const host = nodeHost({ node, localAddress });
  return [`${host}:${node.ports.mgmt}`, `${host}:${node.ports.mgmtSSL}`];
}

export function statusOf(measured: MeasuredBucket | null | undefined): NodeStatus {
  if (!measured) return 'warmup';
  if (measured.state === 'failed' || measured.problems.length > 0) return 'unhealthy';
  return measured.state === 'warmup' ? 'warmup' : 'healthy';
}

/** The worst bucket decides: one that failed, refuses writes or has a damaged file; then one that warms up. */
export function nodeStatus(snapshot: Pick<StableNodeSnapshot, 'measured' | 'isAnswering'>): NodeStatus {
  if (!snapshot.isAnswering) return 'unhealthy';
  const statuses = new Set([...snapshot.measured.values()].map(statusOf));
  if (statuses.has('unhealthy')) return 'unhealthy';
  return statuses.has('warmup') ? 'warmup' : 'healthy';
}

/** The share of the configured replicas that are in sync: 0 with one node, 1 where none are configured. */
export function replicationOf({ replicaNumber }: StoredBucket, map: BucketMap | null): number {
  if (replicaNumber === 0) return 1;
  const { shards } = map ?? { shards: [] };
  const inSync = shards.reduce((sum, shard) => sum + Math.max((shard.inSync?.length ?? 1) - 1, 0), 0);
  return shards.length === 0 ? 0 : Math.min(inSync / (shards.length * replicaNumber), 1);
}

export function nodeRecord(snapshot: NodeSnapshot): Record<string, unknown> {
  return {
    ...identity(snapshot, '/'),
    status: nodeStatus(snapshot),
    ...figures(snapshot, snapshot.measured),
  };
}

/** The node in the record of a bucket, without what `bucketNodeIdentity` has. */
export function bucketNodeFigures(
  snapshot: NodeSnapshot,
  bucket: StoredBucket,
  replication: number,
): Record<string, unknown> {
  const measured = snapshot.measured.get(bucket.uuid) ?? null;
  return {
    ...bucketNodeStatus(snapshot, bucket, replication),
    ...figures(snapshot, new Map([[bucket.uuid, measured]])),
  };
}

const bucketStatus = (
  { isAnswering }: StableNodeSnapshot,
  measured: MeasuredBucket | null | undefined,
): NodeStatus => (isAnswering ? statusOf(measured) : 'unhealthy');

/** The part that changes only with the configuration. */
export const bucketNodeIdentity = (
  snapshot: StableNodeSnapshot,
  bucket: StoredBucket,
): Record<string, unknown> => identity(snapshot, `/${capiPath(bucket)}`);

/** The fields after the identity. In streams they are the last; other records have figures after them. */
export function bucketNodeStatus(
  snapshot: StableNodeSnapshot,
  bucket: StoredBucket,
  replication: number,
): Record<string, unknown> {
  return { status: bucketStatus(snapshot, snapshot.measured.get(bucket.uuid)), replication };
}

/** `capiPathname`: the path of the node, or of the bucket, at the CAPI ports. */
export function identity(snapshot: StableNodeSnapshot, capiPathname: string): Record<string, unknown> {
  const { node, version, os, isThis, serverGroup } = snapshot;
  const { ports } = node;
  const host = nodeHost(snapshot);
  const network = networkOf(node);
  return {
    couchApiBase: `http://${host}:${ports.capi}${capiPathname}`,
    couchApiBaseHTTPS: `https://${host}:${ports.capiSSL}${capiPathname}`,
    otpNode: node.otpNode,
    ...(isThis && { thisNode: true }),
    hostname: nodeAddress(snapshot),
    configuredHostname: restAddressOf(node),
    nodeUUID: node.uuid,
    nodeHash: Number.parseInt(node.uuid.slice(0, 7), 16),
    clusterCompatibility: node.compatibility ?? clusterCompatibility,
    version,
    os,
    clusterMembership: node.membership,
    recoveryType: node.recovery ?? 'none',
    ports: {
      direct: ports.kv,
      httpsCAPI: ports.capiSSL,
      httpsMgmt: ports.mgmtSSL,
      distTCP: ports.distTCP,
      distTLS: ports.distTLS,
    },
    services: node.services ?? ['kv'],
    ...(serverGroup !== null && { serverGroup }),
    nodeEncryption: network.nodeEncryption,
    addressFamily: network.afamily,
    addressFamilyOnly: network.afamilyOnly,
    externalListeners: network.listeners.map(({ afamily, nodeEncryption }) => ({ afamily, nodeEncryption })),
    ...(node.alternate && { alternateAddresses: shownAlternate(node.alternate) }),
  };
}

function figures(snapshot: NodeSnapshot, buckets: ReadonlyMap<string, MeasuredBucket | null>) {
  const { memory, cpu, allocationStalls } = snapshot.system;
  // Published nodes report four fifths of the machine's memory, in MiB.
  const reserved = Math.floor((memory.total * 4) / 5 / mib);
  return {
    cpuCount: cpu.count,
    uptime: String(Math.floor(snapshot.uptimeSeconds)),
    memoryTotal: memory.total,
    memoryFree: memory.free,
    mcdMemoryReserved: reserved,
    mcdMemoryAllocated: reserved,
    systemStats: {
      cpu_utilization_rate: cpu.utilization,
      cpu_stolen_rate: cpu.stolen,
      swap_total: memory.swapTotal,
      swap_used: memory.swapUsed,
      mem_total: memory.total,
      mem_free: memory.free,
      mem_limit: memory.limit,
      cpu_cores_available: cpu.cores,
      allocstall: allocationStalls,
    },
    interestingStats: interestingStats([...buckets.values()]),
  };
}

/** Sizes of views are zero, since this version serves none. */
function interestingStats(buckets: readonly (MeasuredBucket | null)[]): Record<string, number> {
  const sum = (figure: (bucket: MeasuredBucket) => number) =>
    buckets.reduce((total, bucket) => total + (bucket ? figure(bucket) : 0), 0);
  const items = sum((bucket) => bucket.items);
  const replicaItems = sum((bucket) => bucket.replicaItems ?? 0);
  const pendingItems = sum((bucket) => bucket.pendingItems ?? 0);
  return {
    cmd_get: sum((bucket) => bucket.rates.gets),
    couch_docs_actual_disk_size: sum((bucket) => bucket.diskBytes),
    couch_docs_data_size: sum((bucket) => bucket.dataBytes),
    couch_spatial_data_size: 0,
    couch_spatial_disk_size: 0,
    couch_views_actual_disk_size: 0,
    couch_views_data_size: 0,
    curr_items: items,
    curr_items_tot: items + replicaItems + pendingItems,
    ep_bg_fetched: sum((bucket) => bucket.rates.diskFetches),
    get_hits: sum((bucket) => bucket.rates.getHits),
    index_data_size: 0,
    index_disk_size: 0,
    mem_used: sum((bucket) => bucket.memUsedBytes),
    ops: sum((bucket) => bucket.rates.ops),
    vb_active_num_non_resident: sum((bucket) => bucket.nonResident),
    vb_replica_curr_items: replicaItems,
  };
}

/** Further fields of `/nodes/self`. */
export function nodeDetails(
  snapshot: NodeSnapshot,
  all: readonly NodeSnapshot[],
  buckets: BucketsState,
): Record<string, unknown> {
  const { node, system } = snapshot;
  const { totalBytes, mountPoint } = system.disk;
  const usagePercent = Math.ceil(100 * usedShare(system.disk));
  return {
    availableStorage: {
      hdd: [{ path: mountPoint, sizeKBytes: Math.floor(totalBytes / 1024), usagePercent }],
    },
    storageTotals: storageTotals(all, buckets),
    storage: { ssd: [], hdd: [storagePaths(node)] },
    // Nothing here trusts a shared cookie; the field is part of the published record.
    otpCookie: '',
    memoryQuota: buckets.memoryQuotaMb,
  };
}

function storagePaths({ paths }: NodeState) {
  return {
    path: paths.data,
    index_path: paths.index,
    cbas_dirs: paths.analytics,
    eventing_path: paths.eventing,
    java_home: paths.javaHome,
    quotaMb: 'none',
    state: 'ok',
  };
}

/** Bytes summed over the active data nodes. */
export function storageTotals(nodes: readonly NodeSnapshot[], buckets: BucketsState) {
  const counted = nodes.filter(holdsData);
  const sum = (figure: (node: NodeSnapshot) => number): number =>
    counted.reduce((total, node) => total + figure(node), 0);
  const all = (figure: (bucket: MeasuredBucket) => number): number =>
    sum(({ measured }) =>
      [...measured.values()].reduce((total, bucket) => total + (bucket ? figure(bucket) : 0), 0),
    );
  const [memUsed, diskUsed] = [all((bucket) => bucket.memUsedBytes), all((bucket) => bucket.diskBytes)];
  const perNode = buckets.memoryQuotaMb * mib;
  const quotaUsed = Object.values(buckets.byUuid).reduce(
    (total, bucket) => total + bucket.ramQuotaMb * mib,
    0,
  );
  const diskTotal = sum(({ system }) => system.disk.totalBytes);
  // The node with the least free space limits all. The free space of a node that has not answered yet is unknown.
  const free = counted
    .filter(({ system }) => system.disk.totalBytes > 0)
    .map(({ system }) => system.disk.freeBytes);
  return {
    ram: {
      total: sum(({ system }) => system.memory.limit),
      quotaTotal: perNode * counted.length,
      quotaUsed: quotaUsed * counted.length,
      used: Math.max(
        sum(({ system }) => system.memory.limit - system.memory.free),
        memUsed,
      ),
      usedByData: memUsed,
      quotaUsedPerNode: quotaUsed,
      quotaTotalPerNode: perNode,
    },
    hdd: {
      total: diskTotal,
      quotaTotal: diskTotal,
      used: Math.max(
        sum(({ system }) => system.disk.usedBytes),
        diskUsed,
      ),
      usedByData: diskUsed,
      free: free.length === 0 ? 0 : Math.min(...free) * free.length,
    },
  };
}

/** True for active nodes that run the data service. */
const holdsData = ({ node }: NodeSnapshot): boolean =>
  node.membership === 'active' && (node.services ?? ['kv']).includes('kv');
