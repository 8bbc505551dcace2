// Schemas of buckets and their statistics.
import { shape } from '#contract/json-schema.ts';
import { compactionShape } from '../auto-compaction/auto-compaction.shapes.ts';
import { bucketNodeShape, stableBucketNodeShape, storageTotals } from '../nodes/nodes.shapes.ts';

const { object, each, array, string, integer, number, boolean, either, named, described } = shape;

export const vbucketMap = named(
  'VbucketMap',
  object(
    {
      hashAlgorithm: string,
      numReplicas: integer,
      serverList: array(string),
      vBucketMap: described(
        'For each vbucket the servers that have it, the active one first.',
        array(array(integer)),
      ),
    },
    { vBucketMapForward: array(array(integer)) },
  ),
);

/** The required fields that change only with the configuration: the stream of a bucket (`bucketsStreaming`) sends these without figures. */
const stable = {
  ...each(string, 'name', 'nodeLocator', 'uuid', 'uri', 'streamingUri', 'bucketCapabilitiesVer'),
  ...each(string, 'bucketType', 'authType', 'saslPassword', 'localRandomKeyUri'),
  bucketCapabilities: array(string),
  controllers: object(each(string, 'compactAll', 'compactDB', 'purgeDeletes', 'startRecovery'), {
    flush: string,
  }),
  stats: object(each(string, 'uri', 'directoryURI', 'nodeStatsListURI')),
};

const optional = {
  collectionsManifestUid: string,
  ddocs: object({ uri: string }),
  vBucketServerMap: vbucketMap,
  autoCompactionSettings: either(
    described('False: the settings of the cluster apply.', boolean),
    compactionShape,
  ),
  purgeInterval: number,
};

const basicStats = object(
  {
    ...each(number, 'quotaPercentUsed', 'opsPerSec', 'diskFetches'),
    ...each(integer, 'itemCount', 'diskUsed', 'dataUsed', 'memUsed', 'vbActiveNumNonResident'),
  },
  { hitRatio: number, storageTotals },
);

export const bucketShape = named(
  'Bucket',
  object(
    {
      ...stable,
      nodes: array(bucketNodeShape),
      replicaIndex: boolean,
      ...each(integer, 'replicaNumber', 'threadsNumber', 'pitrGranularity', 'pitrMaxHistoryAge'),
      quota: object(each(integer, 'ram', 'rawRAM', 'bytes')),
      basicStats,
      ...each(string, 'evictionPolicy', 'storageBackend', 'durabilityMinLevel', 'conflictResolutionType'),
      pitrEnabled: boolean,
      fragmentationPercentage: number,
    },
    {
      ...optional,
      ...each(integer, 'maxTTL', 'driftAheadThresholdMs', 'driftBehindThresholdMs'),
      compressionMode: string,
    },
  ),
);

export const stableBucketShape = named(
  'BucketIdentity',
  object({ ...stable, nodes: array(stableBucketNodeShape) }, optional),
);

export const randomKeyShape = object({ ok: boolean }, { key: string, error: string });

export const bucketNodesShape = object({
  servers: array(object({ hostname: string, uri: string, stats: object({ uri: string }) })),
});

export const bucketNodeLinkShape = object({
  hostname: string,
  bucket: object({ uri: string }),
  stats: object({ uri: string }),
});

const series = {
  samplesCount: integer,
  isPersistent: boolean,
  lastTStamp: integer,
  interval: integer,
};
const op = object({ samples: shape.record(array(either(number, shape.nothing))), ...series });

export const seriesShape = object({ op }, { hot_keys: array(shape.any) });
export const nodeSeriesShape = object({ hostname: string, op }, { hot_keys: array(shape.any) });
export const oneSeriesShape = object({
  ...series,
  timestamp: array(integer),
  nodeStats: shape.record(array(either(number, shape.nothing))),
});
export const seriesNamesShape = object({ blocks: array(shape.any) });
export const designDocumentsShape = object({ rows: array(shape.any) });
