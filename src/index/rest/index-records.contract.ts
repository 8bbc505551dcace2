// The records of an index in replies of the index service's port and of the cluster manager's.
import { shape } from '#contract/json-schema.ts';
import type { IndexDefinition, IndexReport, WantedIndex } from '../index.contract.ts';
import { definitionText } from './index-text.contract.ts';

export interface ShownIndex extends WantedIndex {
  readonly report: IndexReport | undefined;
}

/** The names of the node in records. */
export interface ShownNode {
  /** `host:8091`. */
  readonly address: string;
  readonly uuid: string;
  readonly storageMode: string;
}

/** The index on one node; each builds it independently. */
export interface ShownCopy extends Pick<IndexReport, 'state' | 'progress'> {
  readonly address: string;
  /** Absent: the node is of an earlier version, which does not report it. */
  readonly lastScanMs?: number;
}

const statuses = { deferred: 'Created', building: 'Building', online: 'Ready', offline: 'Error' } as const;
const { string, boolean, integer } = shape;

const sharedShapes = {
  ...shape.each(string, 'bucket', 'collection', 'definition', 'indexName', 'lastScanTime', 'scope', 'status'),
  ...shape.each(integer, 'numPartition', 'numReplica', 'progress', 'replicaId'),
  ...shape.each(boolean, 'partitioned', 'stale'),
  hosts: shape.array(string),
  instId: shape.either(string, integer),
  partitionMap: shape.record(shape.array(integer)),
};

export const managerIndexShape = shape.named(
  'Index',
  shape.object({ ...sharedShapes, ...shape.each(string, 'index', 'storageMode'), id: string }),
);

/** The record of `GET /indexStatus` of the cluster manager. `copies`: on the nodes that were reached. */
export function managerIndexRecord(
  { definition, isBuilt }: WantedIndex,
  { storageMode, copies }: { storageMode: string; copies: readonly ShownCopy[] },
): Record<string, unknown> {
  const hosts = copies.map(({ address }) => address);
  const unfinished = copies.find(({ state }) => state !== 'online');
  const stateIfUnreached = isBuilt ? 'offline' : 'deferred';
  // Ready only once every node has built the index.
  const state = unfinished?.state ?? (copies.length > 0 ? 'online' : stateIfUnreached);
  return {
    ...definitionFields(definition),
    hosts,
    status: statuses[state],
    progress: copies.length === 0 ? 0 : Math.min(...copies.map(({ progress }) => progress)),
    lastScanTime: scanTime(Math.max(...copies.map(({ lastScanMs = 0 }) => lastScanMs))),
    partitionMap: Object.fromEntries(hosts.map((host) => [host, partitionNumbers(definition)])),
    stale: copies.length === 0,
    storageMode,
    index: definition.name,
    id: definition.id,
    instId: definition.id,
  };
}

export const serviceIndexShape = shape.named(
  'IndexServiceStatus',
  shape.object(
    {
      ...sharedShapes,
      ...shape.each(string, 'name', 'indexType', 'nodeUUID'),
      ...shape.each(string, 'defnId'),
      ...shape.each(boolean, 'isPrimary', 'scheduled'),
      ...shape.each(integer, 'completion'),
      secExprs: shape.array(string),
    },
    { ...shape.each(string, 'where', 'error') },
  ),
);

/** The record of `GET /getIndexStatus` of the index service. */
export function serviceIndexRecord(index: ShownIndex, node: ShownNode): Record<string, unknown> {
  const { definition, report } = index;
  return {
    ...sharedFields(index, node),
    defnId: definition.id,
    instId: definition.id,
    name: definition.name,
    isPrimary: definition.isPrimary,
    secExprs: definition.keys.map(({ expression }) => expression),
    ...(definition.condition !== undefined && { where: definition.condition }),
    indexType: node.storageMode,
    completion: report?.progress ?? 0,
    scheduled: false,
    nodeUUID: node.uuid,
    ...(report?.message !== undefined && { error: report.message }),
  };
}

function sharedFields({ definition, report }: ShownIndex, node: ShownNode): Record<string, unknown> {
  return {
    ...definitionFields(definition),
    hosts: [node.address],
    status: statuses[report?.state ?? 'deferred'],
    progress: report?.progress ?? 0,
    lastScanTime: scanTime(report?.lastScanMs),
    partitionMap: { [node.address]: partitionNumbers(definition) },
    stale: false,
  };
}

function definitionFields(definition: IndexDefinition): Record<string, unknown> {
  const { keyspace, name, replicas, partition } = definition;
  return {
    bucket: keyspace.name.bucket,
    scope: keyspace.name.scope,
    collection: keyspace.name.collection,
    indexName: name,
    definition: definitionText(definition),
    numReplica: replicas,
    numPartition: partition?.partitions ?? 1,
    partitioned: partition !== undefined,
    replicaId: 0,
  };
}

const partitionNumbers = ({ partition }: IndexDefinition): number[] =>
  partition === undefined ? [0] : Array.from({ length: partition.partitions }, (_, at) => at + 1);

/** `NA` before the first scan. */
const scanTime = (lastScanMs = 0): string => (lastScanMs > 0 ? new Date(lastScanMs).toUTCString() : 'NA');
