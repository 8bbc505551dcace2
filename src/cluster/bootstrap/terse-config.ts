// The short configurations that clients use to bootstrap and route, over REST and the data port. They always use the
// names that published clients know.
import { urlHost } from '#base/host-and-port.ts';
import { hostPlaceholder } from '#base/host-placeholder.ts';
import type {
  AlternateAddresses,
  BucketMap,
  BucketType,
  NodeState,
  StoredBucket,
} from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { loopbackOf } from '../config/node-network.ts';
import { type RecordWithMap, vbucketMapOf } from '../topology/vbucket-map.ts';

const brandedTypes: Record<BucketType, string> = {
  native: 'membase',
  ephemeral: 'ephemeral',
  cache: 'memcached',
};

const documentCapabilities = [
  'collections',
  'durableWrite',
  'tombstonedUserXAttrs',
  'subdoc.ReplaceBodyWithXattr',
  'subdoc.DocumentMacroSupport',
  'subdoc.ReviveDocument',
  'subdoc.ReplicaRead',
  'rangeScan',
  'cbhello',
  'touch',
  'dcp',
  'cccp',
  'nodesExt',
  'xattr',
];

/** Only capabilities that this version has; clients themselves refuse calls that need others. */
export const bucketCapabilities = (type: BucketType): readonly string[] =>
  type === 'cache' ? ['cbhello', 'nodesExt'] : documentCapabilities;

export const bucketUri = (name: string): string => `/pools/default/buckets/${encodeURIComponent(name)}`;

export const withUuid = (path: string, uuid: string): string => `${path}?bucket_uuid=${uuid}`;

export const streamingUri = (bucket: StoredBucket): string =>
  withUuid(`/pools/default/bucketsStreaming/${encodeURIComponent(bucket.name)}`, bucket.uuid);

export const capiPath = (bucket: StoredBucket): string => encodeURIComponent(`${bucket.name}+${bucket.uuid}`);

/** The backend's name in client configurations. */
export const storageBackend = (type: BucketType): string => (type === 'native' ? 'couchstore' : 'undefined');

export function terseBucketConfig(view: ClusterView, bucket: StoredBucket): RecordWithMap {
  const nodes = bucketServers(view, bucket);
  return {
    rev: view.bucketRevision(bucket.uuid),
    revEpoch: view.revisionEpoch,
    name: bucket.name,
    nodeLocator: bucket.type === 'cache' ? 'ketama' : 'vbucket',
    bucketType: brandedTypes[bucket.type],
    storageBackend: storageBackend(bucket.type),
    uuid: bucket.uuid,
    uri: withUuid(bucketUri(bucket.name), bucket.uuid),
    streamingUri: streamingUri(bucket),
    bucketCapabilitiesVer: '',
    bucketCapabilities: bucketCapabilities(bucket.type),
    ...(bucket.type !== 'cache' && { collectionsManifestUid: view.manifest(bucket.uuid).uid }),
    ...(bucket.type === 'native' && { ddocs: { uri: `${bucketUri(bucket.name)}/ddocs` } }),
    ...(bucket.type !== 'cache' && {
      vBucketServerMap: serverMap(bucket, view.map(bucket.uuid), nodes, (node) => routedHost(node, view)),
    }),
    nodes: nodes.map((node) => terseNode(node, bucket, routedHost(node, view))),
    nodesExt: extendedNodes(view, nodes),
    clusterCapabilitiesVer: [1, 0],
    clusterCapabilities: clusterCapabilities(view),
  };
}

/** The configuration for clients that use no bucket yet. */
export function nodeServices(view: ClusterView): Record<string, unknown> {
  return {
    rev: view.clusterRevision(),
    nodesExt: extendedNodes(view),
    clusterCapabilitiesVer: [1, 0],
    clusterCapabilities: clusterCapabilities(view),
    revEpoch: view.revisionEpoch,
  };
}

/**
 * The nodes that serve a bucket: the active ones of the data service, and any that its map still names. Nodes that are about to leave come
 * last, so that the other nodes keep their positions in the list afterwards: SDKs use a new map before they renumber their connections, and
 * would look up new positions among the old connections, where requests to the node that has left are cancelled.
 */
export function bucketServers(view: ClusterView, bucket: StoredBucket): readonly NodeState[] {
  const mapped = new Set(view.map(bucket.uuid)?.nodes);
  const data = new Set(view.dataNodes);
  const leaving = leavingNodes(view);
  return view.cluster.nodes
    .filter((node) => data.has(node) || (mapped.has(node.uuid) && node.membership === 'active'))
    .toSorted((a, b) => Number(leaving.has(a.uuid)) - Number(leaving.has(b.uuid)));
}

function leavingNodes({ cluster: { balance } }: ClusterView): ReadonlySet<string> {
  return new Set([...(balance?.ejected ?? []), ...(balance?.failing ?? [])]);
}

/** Without a map there are no rows of vbuckets. */
export function serverMap(
  bucket: StoredBucket,
  map: BucketMap | null,
  nodes: readonly NodeState[],
  hostOf: (node: NodeState) => string,
) {
  const nodeIds = nodes.map(({ uuid }) => uuid);
  return {
    hashAlgorithm: 'CRC',
    numReplicas: bucket.replicaNumber,
    serverList: nodes.map((node) => `${urlHost(hostOf(node))}:${node.ports.kv}`),
    vBucketMap: map === null ? [] : vbucketMapOf(map, nodeIds, bucket.replicaNumber),
  };
}

function terseNode(node: NodeState, bucket: StoredBucket, routed: string) {
  const host = urlHost(routed);
  return {
    ...(bucket.type === 'native' && {
      couchApiBase: `http://${host}:${node.ports.capi}/${capiPath(bucket)}`,
    }),
    hostname: `${host}:${node.ports.mgmt}`,
    ports: { direct: node.ports.kv },
  };
}

/** `first` are listed in this order before the other active nodes. */
function extendedNodes(view: ClusterView, first: readonly NodeState[] = view.dataNodes) {
  const others = view.activeNodes.filter((node) => !first.includes(node));
  // Nodes that leave finish their statements, and get no others: an SDK fails a statement that its node refuses, also where it could ask another node.
  const finishing = view.cluster.balance?.hasMoved ? leavingNodes(view) : new Set();
  return [...first, ...others].map((node) => ({
    services: externalPorts(node, { takesQueries: !finishing.has(node.uuid) }),
    ...(node === view.self && { thisNode: true }),
    ...extendedHost(node, view),
    ...(node.alternate && { alternateAddresses: shownAlternate(node.alternate) }),
  }));
}

/** Clients know the host of the node that they ask. Some, as the SDK for Java, refuse a configuration in which another node has none. */
function extendedHost(node: NodeState, view: ClusterView): { hostname?: string } {
  const hostname = routedHost(node, view);
  return hostname === hostPlaceholder && node === view.self ? {} : { hostname };
}

/**
 * The host by which clients reach the node. Nodes without a name are on one machine. Where this node listens on loopback only, its clients are on
 * that machine too, and a configuration of several nodes has the loopback address for all of them: the SDK for Rust does not replace the placeholder
 * in `nodesExt` of the first configuration, and clients would open new connections to a node whose host differs between the configurations of nodes.
 */
function routedHost(node: NodeState, view: ClusterView): string {
  if (node.hostname !== null) return node.hostname;
  const showsOthers = view.activeNodes.some((active) => active !== view.self);
  return view.listensOnLoopbackOnly && showsOthers ? loopbackOf(node) : hostPlaceholder;
}

function externalPorts(node: NodeState, { takesQueries }: { takesQueries: boolean }) {
  const { capi, capiSSL, kv, kvSSL, mgmt, mgmtSSL, n1ql, n1qlSSL, indexHttp, indexHttps } = node.ports;
  const query = takesQueries && runsQuery(node) ? { n1ql, n1qlSSL } : {};
  const indexes = runsIndexes(node) ? { indexHttp, indexHttps } : {};
  return { ...backupPorts(node), capi, capiSSL, kv, kvSSL, mgmt, mgmtSSL, ...indexes, ...query };
}

/** True if the node runs the query service and the service has a port. */
const runsQuery = ({ services, ports }: NodeState): boolean =>
  (services ?? []).includes('n1ql') && ports.n1ql !== undefined;

const runsIndexes = ({ services, ports }: NodeState): boolean =>
  (services ?? []).includes('index') && ports.indexHttp !== undefined;

const backupPorts = ({ services, ports: { backupAPI, backupAPIHTTPS } }: NodeState) =>
  (services ?? []).includes('backup') && backupAPI !== undefined ? { backupAPI, backupAPIHTTPS } : {};

/** Capabilities of the running services, which clients use only if they are listed. */
const clusterCapabilities = ({ activeNodes }: ClusterView): Record<string, readonly string[]> =>
  activeNodes.some(runsQuery) ? { n1ql: ['enhancedPreparedStatements'] } : {};

export function shownAlternate({ hostname, ports }: AlternateAddresses) {
  return { external: { hostname, ...(Object.keys(ports).length > 0 && { ports }) } };
}
