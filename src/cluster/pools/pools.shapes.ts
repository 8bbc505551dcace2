// Schemas of the descriptions of the cluster.
import { shape } from '#contract/json-schema.ts';
import { compactionShape } from '../auto-compaction/auto-compaction.shapes.ts';
import { vbucketMap } from '../buckets/buckets.shapes.ts';
import {
  alternateAddresses,
  nodeShape,
  quotaNames,
  stableNodeShape,
  storageTotals,
} from '../nodes/nodes.shapes.ts';

const { object, each, array, record, string, integer, number, boolean, oneOf, either, named } = shape;

const emptyList = array(shape.any);

export const versionsShape = object({ implementationVersion: string, componentsVersion: record(string) });

export const poolsShape = object({
  ...each(boolean, 'isAdminCreds', 'isROAdminCreds', 'isEnterprise', 'isDeveloperPreview'),
  allowedServices: array(string),
  packageVariant: string,
  pools: array(object(each(string, 'name', 'uri', 'streamingUri'))),
  settings: either(record(string), emptyList),
  uuid: either(string, emptyList),
  implementationVersion: string,
  componentsVersion: record(string),
});

const link = object({ uri: string }, { validateURI: string });

const stable = {
  name: string,
  buckets: object(each(string, 'uri', 'terseBucketsBase', 'terseStreamingBucketsBase')),
  bucketNames: array(object({ bucketName: string, uuid: string })),
  controllers: record(shape.any),
  remoteClusters: object({ uri: string, validateURI: string }),
  rebalanceStatus: oneOf('none', 'running'),
  ...each(string, 'rebalanceProgressUri', 'nodeStatusesUri', 'nodeServicesUri', 'trustedCAsURI'),
  ...each(string, 'stopRebalanceUri', 'checkPermissionsURI', 'clusterName', 'clusterEncryptionLevel'),
  tasks: link,
  ...each(integer, 'maxBucketCount', 'maxCollectionCount', 'maxScopeCount'),
  autoCompactionSettings: compactionShape,
  counters: record(integer),
  balanced: boolean,
  ...quotaNames,
};

const alert = object({ msg: string, serverTime: shape.time, disableUIPopUp: boolean });

export const poolShape = named(
  'Pool',
  object(
    {
      etag: string,
      ...stable,
      alerts: array(alert),
      alertsSilenceURL: string,
      nodes: array(nodeShape),
      storageTotals,
    },
    { serverGroupsUri: string },
  ),
);

export const streamedPoolShape = named(
  'PoolIdentity',
  object({ ...stable, nodes: array(stableNodeShape) }, { serverGroupsUri: string }),
);

const nodesExt = array(
  object({ services: record(integer) }, { thisNode: boolean, hostname: string, alternateAddresses }),
);
const capabilities = {
  clusterCapabilitiesVer: array(integer),
  clusterCapabilities: record(array(string)),
};

export const nodeServicesShape = named(
  'NodeServices',
  object({ rev: integer, revEpoch: integer, nodesExt, ...capabilities }),
);

export const terseBucketShape = named(
  'BucketConfiguration',
  object(
    {
      ...each(integer, 'rev', 'revEpoch'),
      ...each(string, 'name', 'nodeLocator', 'bucketType', 'storageBackend', 'uuid', 'uri', 'streamingUri'),
      bucketCapabilitiesVer: string,
      bucketCapabilities: array(string),
      nodes: array(object({ hostname: string, ports: record(integer) }, { couchApiBase: string })),
      nodesExt,
      ...capabilities,
    },
    { collectionsManifestUid: string, ddocs: object({ uri: string }), vBucketServerMap: vbucketMap },
  ),
);

export const terseClusterShape = object(
  {},
  {
    ...each(string, 'clusterUUID', 'orchestrator', 'clusterCompatVersion', 'master', 'clientCertAuthState'),
    isBalanced: boolean,
    autoFailover: object({ enabled: boolean, timeout: integer }),
    autoReprovision: shape.any,
    quotaInfo: object(quotaNames),
    buckets: array(string),
    nodes: array(string),
  },
);

/** Each type of task has its own fields. */
export const tasksShape = array({
  ...object({ type: string, status: string }, { recommendedRefreshPeriod: number }),
  additionalProperties: true,
});

export const progressShape = { ...object({ status: oneOf('none', 'running') }), additionalProperties: true };
