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
import { nodeHost, type StableNodeSnapshot, type storageTotals } from '../nodes/node-record.ts';
import { typeNames } from './bucket-rules/rule-input.ts';
import { pitrDefaults } from './bucket-rules/unavailable.ts';

export interface RecordInput<Snapshot extends StableNodeSnapshot = StableNodeSnapshot> {
  readonly bucket: StoredBucket;
  readonly manifestUid: ManifestState['uid'];
  /** Null: the bucket has no map, or it is not known yet. */
  readonly map: BucketMap | null;
  /** The nodes that serve the bucket. */
  readonly snapshots: readonly Snapshot[];
  readonly enterprise: boolean;
}

const mib = 1024 * 1024;

/** The record that a stream sends. `PreparedRecords` replaces the null of `nodes`. */
export function streamedTemplate({ bucket, manifestUid, map, snapshots }: RecordInput, hasMap = true) {
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
    ...(hasVbuckets && { collectionsManifestUid: manifestUid }),
    ...(bucket.type === 'native' && { ddocs: { uri: `${uri}/ddocs` } }),
    ...(hasVbuckets && hasMap && { vBucketServerMap: shownMap(bucket, map, snapshots) }),
    bucketType: typeNames[bucket.vocabulary][bucket.type],
    authType: 'sasl',
    saslPassword: '',
    localRandomKeyUri: `${uri}/localRandomKey`,
    controllers: controllers(bucket, uri),
    nodes: null,
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
  const host = unnamed === undefined ? '' : nodeHost(unnamed);
  return serverMap(bucket, map, nodes, (node) => node.hostname ?? host);
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

/** The whole record as the configuration determines it. `PreparedRecords` replaces the null of the nodes and of the figures. */
export function recordTemplate(input: RecordInput, hasMap: boolean) {
  const { bucket } = input;
  const rawRAM = bucket.ramQuotaMb * mib;
  const ram = totalQuotaBytes(input);
  return {
    ...streamedTemplate(input, hasMap),
    replicaIndex: bucket.replicaIndex,
    replicaNumber: bucket.replicaNumber,
    threadsNumber: bucket.threadsNumber,
    quota: { ram, rawRAM, bytes: ram },
    basicStats: null,
    evictionPolicy: bucket.evictionPolicy,
    storageBackend: storageBackend(bucket.type),
    durabilityMinLevel: bucket.durabilityMinLevel,
    pitrEnabled: false,
    pitrGranularity: pitrDefaults.granularity,
    pitrMaxHistoryAge: pitrDefaults.maxHistoryAge,
    fragmentationPercentage: null,
    conflictResolutionType: bucket.conflictResolutionType,
    ...(bucket.conflictResolutionType === 'lww' && {
      driftAheadThresholdMs: bucket.driftAheadThresholdMs,
      driftBehindThresholdMs: bucket.driftBehindThresholdMs,
    }),
    ...(input.enterprise && { maxTTL: bucket.maxTtlSeconds, compressionMode: bucket.compressionMode }),
  };
}

/** The quota over all nodes of the bucket. */
const totalQuotaBytes = ({ bucket, snapshots }: Pick<RecordInput, 'bucket' | 'snapshots'>): number =>
  bucket.ramQuotaMb * mib * snapshots.length;

/** The figures of a record. */
export function basicStats(
  input: Pick<RecordInput, 'bucket' | 'snapshots'>,
  measured: MeasuredBucket | null,
  totals: ReturnType<typeof storageTotals> | null,
) {
  const memUsed = measured?.memUsedBytes ?? 0;
  const { ops = 0, gets = 0, getHits = 0, diskFetches = 0 } = measured?.rates ?? {};
  return {
    quotaPercentUsed: Math.min((100 * memUsed) / totalQuotaBytes(input), 100),
    opsPerSec: ops,
    ...(input.bucket.type === 'cache' && { hitRatio: gets > 0 ? (100 * getHits) / gets : 0 }),
    diskFetches,
    itemCount: measured?.items ?? 0,
    diskUsed: measured?.diskBytes ?? 0,
    dataUsed: measured?.dataBytes ?? 0,
    memUsed,
    vbActiveNumNonResident: measured?.nonResident ?? 0,
    ...(totals && { storageTotals: totals }),
  };
}
