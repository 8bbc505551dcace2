// Node records, as `/pools/default`, `/nodes/...` and bucket records carry them.

import { capiPath, shownAlternate, urlHost } from '../bootstrap/terse-config.ts';
import type { BucketsState, NodeState, StoredBucket } from '../config/cluster-state.ts';
import type { MeasuredBucket } from '../config/data-service.ts';
import { networkOf } from '../config/node-network.ts';
import { clusterCompatibility, type Product } from '../config/product.ts';
import { type SystemFigures, usedShare } from './system.ts';

export type NodeStatus = 'healthy' | 'warmup' | 'unhealthy';

/** The facts about the answering node that change only with its configuration. */
export interface StableNodeSnapshot {
  node: NodeState;
  product: Product;
  os: string;
  /** The local address of the client's connection: shown as the host of a node without a name. */
  localAddress: string;
  /** Figures of all live buckets; null before the first report. */
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
  if (!measured || measured.state === 'warmup') return 'warmup';
  return measured.state === 'failed' || measured.troubles.length > 0 ? 'unhealthy' : 'healthy';
}

/** The worst bucket decides: one that failed, refuses writes or has a damaged file; then one that warms up. */
export function nodeStatus(snapshot: Pick<StableNodeSnapshot, 'measured'>): NodeStatus {
  const statuses = new Set([...snapshot.measured.values()].map(statusOf));
  if (statuses.has('unhealthy')) return 'unhealthy';
  return statuses.has('warmup') ? 'warmup' : 'healthy';
}

/** The share of configured replicas that exist: none with one node. */
export const replicationOf = (bucket: StoredBucket): number => (bucket.replicaNumber === 0 ? 1 : 0);

export function nodeRecord(snapshot: NodeSnapshot): Record<string, unknown> {
  return {
    ...identity(snapshot, '/'),
    status: nodeStatus(snapshot),
    ...figures(snapshot, snapshot.measured),
  };
}

/** The node in the record of a bucket. */
export function bucketNodeRecord(snapshot: NodeSnapshot, bucket: StoredBucket): Record<string, unknown> {
  const own = snapshot.measured.get(bucket.uuid) ?? null;
  return {
    ...identity(snapshot, `/${capiPath(bucket)}`),
    status: statusOf(own),
    replication: replicationOf(bucket),
    ...figures(snapshot, new Map([[bucket.uuid, own]])),
  };
}

/** The part that changes only with the configuration; streams carry only this. */
export function stableBucketNode(
  snapshot: StableNodeSnapshot,
  bucket: StoredBucket,
): Record<string, unknown> {
  const status = statusOf(snapshot.measured.get(bucket.uuid));
  return { ...identity(snapshot, `/${capiPath(bucket)}`), status, replication: replicationOf(bucket) };
}

export function identity(snapshot: StableNodeSnapshot, capi: string): Record<string, unknown> {
  const { node, product, os } = snapshot;
  const { ports } = node;
  const host = nodeHost(snapshot);
  const network = networkOf(node);
  return {
    couchApiBase: `http://${host}:${ports.capi}${capi}`,
    couchApiBaseHTTPS: `https://${host}:${ports.capiSSL}${capi}`,
    otpNode: node.otpNode,
    thisNode: true,
    hostname: nodeAddress(snapshot),
    configuredHostname: `${urlHost(node.hostname ?? '127.0.0.1')}:${ports.mgmt}`,
    nodeUUID: node.uuid,
    nodeHash: Number.parseInt(node.uuid.slice(0, 7), 16),
    clusterCompatibility,
    version: product.version,
    os,
    clusterMembership: node.membership,
    recoveryType: 'none',
    ports: {
      direct: ports.kv,
      httpsCAPI: ports.capiSSL,
      httpsMgmt: ports.mgmtSSL,
      distTCP: ports.distTCP,
      distTLS: ports.distTLS,
    },
    services: node.services ?? ['kv'],
    nodeEncryption: network.nodeEncryption,
    addressFamily: network.afamily,
    addressFamilyOnly: network.afamilyOnly,
    externalListeners: network.listeners.map(({ afamily, nodeEncryption }) => ({ afamily, nodeEncryption })),
    ...(node.alternate && { alternateAddresses: shownAlternate(node.alternate) }),
  };
}

function figures(snapshot: NodeSnapshot, buckets: ReadonlyMap<string, MeasuredBucket | null>) {
  const { memory, cpu, allocationStalls } = snapshot.system;
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

/** Views and indexes have no files here, and one node holds no replicas, so these are really zero. */
function interestingStats(buckets: readonly (MeasuredBucket | null)[]): Record<string, number> {
  const sum = (figure: (bucket: MeasuredBucket) => number) =>
    buckets.reduce((total, bucket) => total + (bucket ? figure(bucket) : 0), 0);
  const items = sum((bucket) => bucket.items);
  return {
    cmd_get: sum((bucket) => bucket.rates.gets),
    couch_docs_actual_disk_size: sum((bucket) => bucket.diskBytes),
    couch_docs_data_size: sum((bucket) => bucket.dataBytes),
    couch_spatial_data_size: 0,
    couch_spatial_disk_size: 0,
    couch_views_actual_disk_size: 0,
    couch_views_data_size: 0,
    curr_items: items,
    curr_items_tot: items,
    ep_bg_fetched: sum((bucket) => bucket.rates.diskFetches),
    get_hits: sum((bucket) => bucket.rates.getHits),
    index_data_size: 0,
    index_disk_size: 0,
    mem_used: sum((bucket) => bucket.memUsedBytes),
    ops: sum((bucket) => bucket.rates.ops),
    vb_active_num_non_resident: sum((bucket) => bucket.nonResident),
    vb_replica_curr_items: 0,
  };
}

/** Further fields of `/nodes/self`. */
export function nodeDetails(snapshot: NodeSnapshot, buckets: BucketsState): Record<string, unknown> {
  const { node, system } = snapshot;
  const { totalBytes, mountPoint } = system.disk;
  const usagePercent = Math.ceil(100 * usedShare(system.disk));
  return {
    availableStorage: {
      hdd: [{ path: mountPoint, sizeKBytes: Math.floor(totalBytes / 1024), usagePercent }],
    },
    storageTotals: storageTotals(snapshot, buckets),
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

/** Bytes summed over all data nodes, of which there is one. */
export function storageTotals(snapshot: NodeSnapshot, buckets: BucketsState) {
  const { memory, disk } = snapshot.system;
  const measured = [...snapshot.measured.values()].filter((bucket) => bucket !== null);
  const memUsed = measured.reduce((sum, bucket) => sum + bucket.memUsedBytes, 0);
  const diskUsed = measured.reduce((sum, bucket) => sum + bucket.diskBytes, 0);
  const quotaTotal = buckets.memoryQuotaMb * mib;
  const quotaUsed = Object.values(buckets.byUuid).reduce((sum, bucket) => sum + bucket.ramQuotaMb * mib, 0);
  return {
    ram: {
      total: memory.limit,
      quotaTotal,
      quotaUsed,
      used: Math.max(memory.limit - memory.free, memUsed),
      usedByData: memUsed,
      quotaUsedPerNode: quotaUsed,
      quotaTotalPerNode: quotaTotal,
    },
    hdd: {
      total: disk.totalBytes,
      quotaTotal: disk.totalBytes,
      used: Math.max(disk.usedBytes, diskUsed),
      usedByData: diskUsed,
      free: disk.freeBytes,
    },
  };
}
