// Derives the desired state of this node's data service from the cluster configuration.
import {
  type BucketSpec,
  type KvCluster,
  type KvDesired,
  type KvLimits,
  type KvThreads,
  type Manifest,
  type PeerTls,
  promiseMsMax,
  type ThreadCount,
  type TlsSpec,
  type UserSpec,
} from '#kv/admin.ts';
import { Feature } from '#wire/features.ts';
import { nodeServices, terseBucketConfig } from '../bootstrap/terse-config.ts';
import {
  type BucketMap,
  isFailedOver,
  type ManifestState,
  type NodeState,
  type StoredBucket,
} from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { loopbackOf } from '../config/node-network.ts';
import { durabilityCopies } from '../config/placed-copies.ts';
import { effectiveDataSettings } from '../data-settings/data-settings.ts';
import { mappedText } from '../topology/vbucket-map.ts';
import { wantedShards } from './wanted-shards.ts';

const mib = 1024 * 1024;
/** The timeout of automatic failover while none was set. */
const autoFailoverSeconds = 120;

export interface NodePart {
  identity: NodeIdentity;
  /** The TLS options of connections between nodes. */
  nodeTls: PeerTls | null;
}

export function desiredState(
  view: ClusterView,
  users: UserSpec[],
  tls: TlsSpec | null,
  node: NodePart,
): KvDesired {
  const isProvisioned = view.cluster.uuid !== '';
  return {
    buckets: (hasDocuments(view) ? view.liveBuckets() : []).flatMap((bucket) => {
      const map = view.map(bucket.uuid);
      // A watch may bring a bucket before its map.
      return map === null && bucket.type !== 'cache' ? [] : [bucketSpec(view, bucket, map)];
    }),
    deletedBuckets: view.deletingBuckets().map(({ uuid }) => uuid),
    users,
    clusterConfig: isProvisioned
      ? {
          revEpoch: view.revisionEpoch,
          rev: view.clusterRevision(),
          json: JSON.stringify(nodeServices(view)),
        }
      : null,
    tls,
    ...clusterPart(view, node),
    limits: limits(view),
    threads: threads(view),
  };
}

/** Nothing while this node is the only one. */
function clusterPart(view: ClusterView, { identity, nodeTls }: NodePart): { cluster?: KvCluster } {
  const { nodeId, bootId } = identity;
  const peers = view.cluster.nodes.flatMap((node) => {
    const { uuid, membership, hostname, ports } = node;
    if (uuid === nodeId || membership !== 'active' || ports.replication === undefined) return [];
    // A node without a name is on the same machine.
    return [{ node: uuid, host: hostname ?? loopbackOf(node), port: ports.replication }];
  });
  if (view.cluster.nodes.length < 2) return {};
  const { timeout } = view.setting('autoFailover', { timeout: autoFailoverSeconds });
  // A promise must end before another node can serve instead of this one, which is after the failover timeout.
  const promiseMs = Math.min(timeout * 1000 - 1000, promiseMsMax);
  const self = { node: nodeId, boot: bootId };
  return {
    cluster: {
      self,
      peers,
      tls: nodeTls,
      promiseMs,
      ...(keepsCopies(view, nodeId) && { keepsCopies: true }),
    },
  };
}

/**
 * Whether the node has files of buckets. Nodes that were added and not rebalanced in have none. A node that was failed over keeps its own: in-sync sets
 * name its process until the new actives have confirmed, and a new active that restarts before that hands the shard back to this node.
 */
const hasDocuments = ({ isActive, self }: ClusterView): boolean => isActive || isFailedOver(self);

/** Whether the node keeps copies that the maps do not give it: delta recovery of a failed-over node sends only the changes that they lack. */
function keepsCopies({ cluster }: ClusterView, nodeId: string): boolean {
  const isFailing = cluster.balance?.failing?.includes(nodeId) ?? false;
  const keeps = (node: NodeState): boolean => node.keepsCopies === true || isFailedOver(node);
  return isFailing || cluster.nodes.some((node) => node.uuid === nodeId && keeps(node));
}

function limits(view: ClusterView): KvLimits {
  const settings = effectiveDataSettings(view, view.self.uuid);
  const withheld = [
    ...(settings['datatype_snappy'] === false ? [Feature.snappy] : []),
    ...(settings['tracing_enabled'] === false ? [Feature.tracing] : []),
  ];
  return {
    connectionsMax: Number(settings['max_connections']),
    idleSeconds: Number(settings['connection_idle_time']),
    logsConnections: Number(settings['verbosity']) > 0,
    ...(withheld.length > 0 && { withheldFeatures: withheld }),
  };
}

function threads(view: ClusterView): KvThreads {
  const settings = effectiveDataSettings(view, view.self.uuid);
  return {
    readers: settings['num_reader_threads'] as ThreadCount,
    writers: settings['num_writer_threads'] as ThreadCount,
    storage: settings['num_storage_threads'] as ThreadCount,
  };
}

/** `map`: null for a bucket of type `cache`. */
function bucketSpec(view: ClusterView, bucket: StoredBucket, map: BucketMap | null): BucketSpec {
  return {
    name: bucket.name,
    uuid: bucket.uuid,
    incarnation: bucket.incarnation,
    type: bucket.type,
    quotaBytes: bucket.ramQuotaMb * mib,
    replicaNumber: durabilityCopies(bucket),
    evictionPolicy: bucket.evictionPolicy,
    threadsNumber: bucket.threadsNumber,
    durabilityMinLevel: bucket.durabilityMinLevel,
    maxTtl: bucket.maxTtlSeconds,
    compressionMode: bucket.compressionMode,
    conflictResolution: bucket.conflictResolutionType,
    clockDriftMs: { ahead: bucket.driftAheadThresholdMs, behind: bucket.driftBehindThresholdMs },
    manifest: manifestSpec(view.manifest(bucket.uuid)),
    ...(map !== null && {
      shards: wantedShards(map, view.self.uuid),
      mapRevision: view.mapRevision(bucket.uuid),
    }),
    clusterConfig: {
      revEpoch: view.revisionEpoch,
      rev: view.bucketRevision(bucket.uuid),
      json: mappedText(terseBucketConfig(view, bucket)),
    },
  };
}

/** Limits of scopes concern the manager only. */
const manifestSpec = ({ uid, scopes }: ManifestState): Manifest => ({
  uid,
  scopes: scopes.map(({ limits: _limits, ...scope }) => scope),
});
