// Schemas of node records, for the API document and the tests that check answers against it.
import { shape } from '#contract/json-schema.ts';

const { object, each, array, string, integer, number, boolean, oneOf, named, described } = shape;

export const quotaNames = each(
  integer,
  'memoryQuota',
  'indexMemoryQuota',
  'ftsMemoryQuota',
  'cbasMemoryQuota',
  'eventingMemoryQuota',
);

export const alternateAddresses = object({
  external: object({ hostname: string }, { ports: shape.record(integer) }),
});

const externalListeners = array(object({ afamily: string, nodeEncryption: boolean }));

/** Only the fields that change with the configuration. */
const identity = {
  ...each(string, 'couchApiBase', 'couchApiBaseHTTPS', 'otpNode', 'hostname', 'configuredHostname'),
  ...each(string, 'nodeUUID', 'version', 'os', 'addressFamily'),
  ...each(boolean, 'thisNode', 'nodeEncryption', 'addressFamilyOnly'),
  ...each(integer, 'nodeHash', 'clusterCompatibility'),
  clusterMembership: oneOf('active', 'inactiveAdded', 'inactiveFailed'),
  recoveryType: oneOf('none', 'full', 'delta'),
  status: oneOf('healthy', 'unhealthy', 'warmup'),
  ports: object(each(integer, 'direct', 'httpsCAPI', 'httpsMgmt', 'distTCP', 'distTLS')),
  services: array(string),
  externalListeners,
};

const systemStats = object({
  ...each(number, 'cpu_utilization_rate', 'cpu_stolen_rate', 'cpu_cores_available'),
  ...each(integer, 'swap_total', 'swap_used', 'mem_total', 'mem_free', 'mem_limit', 'allocstall'),
});

const interestingStats = object(
  each(
    number,
    'cmd_get',
    'couch_docs_actual_disk_size',
    'couch_docs_data_size',
    'couch_spatial_data_size',
    'couch_spatial_disk_size',
    'couch_views_actual_disk_size',
    'couch_views_data_size',
    'curr_items',
    'curr_items_tot',
    'ep_bg_fetched',
    'get_hits',
    'index_data_size',
    'index_disk_size',
    'mem_used',
    'ops',
    'vb_active_num_non_resident',
    'vb_replica_curr_items',
  ),
);

const figures = {
  cpuCount: number,
  uptime: described('Seconds, as text.', string),
  ...each(described('Bytes.', integer), 'memoryTotal', 'memoryFree'),
  ...each(described('MiB.', integer), 'mcdMemoryReserved', 'mcdMemoryAllocated'),
  systemStats,
  interestingStats,
};

const replication = described('The share of configured replicas that exist, 0 to 1.', number);

export const nodeShape = named(
  'Node',
  object({ ...identity, ...figures }, { alternateAddresses, serverGroup: string }),
);

export const bucketNodeShape = named(
  'BucketNode',
  object({ ...identity, ...figures, replication }, { alternateAddresses, serverGroup: string }),
);

export const stableNodeShape = named(
  'NodeIdentity',
  object(identity, { alternateAddresses, serverGroup: string }),
);

export const stableBucketNodeShape = named(
  'BucketNodeIdentity',
  object({ ...identity, replication }, { alternateAddresses, serverGroup: string }),
);

export const storageTotals = named(
  'StorageTotals',
  object({
    ram: object({
      ...each(integer, 'total', 'quotaTotal', 'quotaUsed', 'used', 'usedByData'),
      ...each(integer, 'quotaUsedPerNode', 'quotaTotalPerNode'),
    }),
    hdd: object(each(integer, 'total', 'quotaTotal', 'used', 'usedByData', 'free')),
  }),
);

const storageFolder = object({
  ...each(string, 'path', 'index_path', 'eventing_path', 'java_home', 'quotaMb', 'state'),
  cbas_dirs: array(string),
});

export const detailedNodeShape = named(
  'DetailedNode',
  object(
    {
      ...identity,
      ...figures,
      replication,
      storageTotals,
      ...quotaNames,
      availableStorage: object({
        hdd: array(object({ path: string, sizeKBytes: integer, usagePercent: integer })),
      }),
      storage: object({ ssd: array(storageFolder), hdd: array(storageFolder) }),
      otpCookie: described('Always empty.', string),
    },
    { alternateAddresses, serverGroup: string },
  ),
);

export const nodeStatusesShape = shape.record(
  object(
    { status: oneOf('healthy', 'unhealthy'), dataless: boolean, otpNode: string, replication },
    { gracefulFailoverPossible: boolean },
  ),
);
