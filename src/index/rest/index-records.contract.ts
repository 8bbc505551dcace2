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

/** The index on another node, which builds it independently. */
export interface ShownCopy {
  readonly address: string;
  readonly state: IndexReport['state'];
  readonly progress: number;
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

/** The record of `GET /indexStatus` of the cluster manager. */
export function managerIndexRecord(
  index: ShownIndex,
  node: ShownNode,
  copies: readonly ShownCopy[] = [],
): Record<string, unknown> {
  const { definition } = index;
  const fields = sharedFields(index, node);
  const hosts = [node.address, ...copies.map(({ address }) => address)];
  const unfinished = copies.find(({ state }) => state !== 'online');
  return {
    ...fields,
    hosts,
    // Ready only once every node has built it.
    ...(unfinished !== undefined &&
      fields['status'] === statuses.online && { status: statuses[unfinished.state] }),
    progress: Math.min(index.report?.progress ?? 0, ...copies.map(({ progress }) => progress)),
    partitionMap: Object.fromEntries(hosts.map((host) => [host, partitionNumbers(definition)])),
    storageMode: node.storageMode,
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
  const { name } = definition.keyspace;
  const partitions = definition.partition?.partitions ?? 1;
  return {
    hosts: [node.address],
    bucket: name.bucket,
    scope: name.scope,
    collection: name.collection,
    indexName: definition.name,
    definition: definitionText(definition),
    status: statuses[report?.state ?? 'deferred'],
    progress: report?.progress ?? 0,
    lastScanTime: scanTime(report),
    numReplica: definition.replicas,
    numPartition: partitions,
    partitioned: definition.partition !== undefined,
    partitionMap: { [node.address]: partitionNumbers(definition) },
    replicaId: 0,
    stale: false,
  };
}

const partitionNumbers = ({ partition }: IndexDefinition): number[] =>
  partition === undefined ? [0] : Array.from({ length: partition.partitions }, (_, at) => at + 1);

/** `NA` before the first scan. */
const scanTime = (report: IndexReport | undefined): string =>
  report === undefined || report.lastScanMs === 0 ? 'NA' : new Date(report.lastScanMs).toUTCString();
