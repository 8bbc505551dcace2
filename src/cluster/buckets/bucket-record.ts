// A bucket in the REST API: its configuration, and figures measured by the data service.
import { shownBucketCompaction } from '../auto-compaction/settings.ts';
import {
  bucketCapabilities,
  bucketUri,
  serverMap,
  storageBackend,
  streamingUri,
  withUuid,
} from '../bootstrap/terse-config.ts';
import type { BucketMap, ManifestState, StoredBucket } from '../config/cluster-state.ts';
import type { MeasuredBucket } from '../config/data-service.ts';
import { type NodeSnapshot, nodeHost, type storageTotals } from '../nodes/node-record.ts';
import { typeNames } from './bucket-rules/rule-input.ts';
import { pitrDefaults } from './bucket-rules/unavailable.ts';

export interface RecordInput {
  bucket: StoredBucket;
  manifest: ManifestState;
  map: BucketMap | null;
  /** The nodes that serve the bucket. */
  snapshots: readonly Pick<NodeSnapshot, 'node' | 'localAddress'>[];
  nodes: Record<string, unknown>[];
  enterprise: boolean;
}

const mib = 1024 * 1024;

/** The part that changes only with the configuration. */
export function stableRecord({ bucket, manifest, map, snapshots, nodes }: RecordInput, skipMap: boolean) {
  const uri = bucketUri(bucket.name);
  const hasVbuckets = bucket.type !== 'cache';
  return {
    name: bucket.name,
    nodeLocator: hasVbuckets ? 'vbucket' : 'ketama',
    uuid: bucket.uuid,
    uri: withUuid(uri, bucket.uuid),
    streamingUri: streamingUri(bucket),
    bucketCapabilitiesVer: '',
    bucketCapabilities: bucketCapabilities(bucket.type),
    ...(hasVbuckets && { collectionsManifestUid: manifest.uid }),
    ...(bucket.type === 'native' && { ddocs: { uri: `${uri}/ddocs` } }),
    ...(hasVbuckets && !skipMap && { vBucketServerMap: shownMap(bucket, map, snapshots) }),
    bucketType: typeNames[bucket.vocabulary][bucket.type],
    authType: 'sasl',
    saslPassword: '',
    localRandomKeyUri: `${uri}/localRandomKey`,
    controllers: controllers(bucket, uri),
    nodes,
    stats: {
      uri: `${uri}/stats`,
      directoryURI: `${uri}/stats/Directory`,
      nodeStatsListURI: `${uri}/nodes`,
    },
    ...(bucket.type !== 'ephemeral' && {
      autoCompactionSettings: bucket.autoCompaction ? shownBucketCompaction(bucket.autoCompaction) : false,
    }),
    ...(bucket.purgeIntervalDays !== null && { purgeInterval: bucket.purgeIntervalDays }),
  };
}

function shownMap(bucket: StoredBucket, map: BucketMap | null, snapshots: RecordInput['snapshots']) {
  const nodes = snapshots.map(({ node }) => node);
  // Nodes without a name are on one machine, which the client reached at one address.
  const unnamed = snapshots.find(({ node }) => node.hostname === null);
  return serverMap(bucket, map, nodes, unnamed === undefined ? '' : nodeHost(unnamed));
}

function controllers(bucket: StoredBucket, uri: string) {
  return {
    compactAll: `${uri}/controller/compactBucket`,
    compactDB: `${uri}/controller/compactDatabases`,
    purgeDeletes: `${uri}/controller/unsafePurgeBucket`,
    startRecovery: `${uri}/controller/startRecovery`,
    ...(bucket.flushEnabled && { flush: `${uri}/controller/doFlush` }),
  };
}

export function fullRecord(
  input: RecordInput,
  measured: MeasuredBucket | null,
  totals: ReturnType<typeof storageTotals> | null,
  skipMap: boolean,
) {
  const { bucket } = input;
  const rawRAM = bucket.ramQuotaMb * mib;
  const ram = rawRAM * input.nodes.length;
  return {
    ...stableRecord(input, skipMap),
    replicaIndex: bucket.replicaIndex,
    replicaNumber: bucket.replicaNumber,
    threadsNumber: bucket.threadsNumber,
    quota: { ram, rawRAM, bytes: ram },
    basicStats: { ...basicStats(bucket, measured, ram), ...(totals && { storageTotals: totals }) },
    evictionPolicy: bucket.evictionPolicy,
    storageBackend: storageBackend(bucket.type),
    durabilityMinLevel: bucket.durabilityMinLevel,
    pitrEnabled: false,
    pitrGranularity: pitrDefaults.granularity,
    pitrMaxHistoryAge: pitrDefaults.maxHistoryAge,
    fragmentationPercentage: measured?.fragmentationPercent ?? 0,
    conflictResolutionType: bucket.conflictResolutionType,
    ...(bucket.conflictResolutionType === 'lww' && {
      driftAheadThresholdMs: bucket.driftAheadThresholdMs,
      driftBehindThresholdMs: bucket.driftBehindThresholdMs,
    }),
    ...(input.enterprise && { maxTTL: bucket.maxTtlSeconds, compressionMode: bucket.compressionMode }),
  };
}

function basicStats(bucket: StoredBucket, measured: MeasuredBucket | null, ram: number) {
  const memUsed = measured?.memUsedBytes ?? 0;
  const { ops = 0, gets = 0, getHits = 0, diskFetches = 0 } = measured?.rates ?? {};
  return {
    quotaPercentUsed: Math.min((100 * memUsed) / ram, 100),
    opsPerSec: ops,
    ...(bucket.type === 'cache' && { hitRatio: gets > 0 ? (100 * getHits) / gets : 0 }),
    diskFetches,
    itemCount: measured?.items ?? 0,
    diskUsed: measured?.diskBytes ?? 0,
    dataUsed: measured?.dataBytes ?? 0,
    memUsed,
    vbActiveNumNonResident: measured?.nonResident ?? 0,
  };
}
