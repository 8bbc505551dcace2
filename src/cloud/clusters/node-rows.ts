// The rows of a cluster's nodes: which ones a request adds and which ones it removes.
import type { Random } from '#ports/random.ts';
import type { NodeRow } from '../store/tables.ts';
import type { Capacity } from './capacity.ts';
import type { ServerGroup } from './cluster-spec.ts';

export interface NewNodes {
  readonly clusterId: string;
  readonly home: string;
  /** The group of each node. */
  readonly groups: readonly ServerGroup[];
  readonly firstPosition: number;
}

export function newNodeRows(
  { clusterId, home, groups, firstPosition }: NewNodes,
  { random, capacity }: { random: Random; capacity: Capacity },
): NodeRow[] {
  return groups.map((group, i) => ({
    id: random.uuid(),
    cluster_id: clusterId,
    position: firstPosition + i,
    memory_mb: capacity.memoryMb(group.memoryGib),
    services: JSON.stringify(group.services),
    address: '',
    ports: '',
    home,
    state: 'new',
  }));
}

/** The group of each node, those with the data service first: the founder, which is the first node, has to run it. */
export function groupOfEach(servers: readonly ServerGroup[]): ServerGroup[] {
  const [withData, without] = [
    servers.filter(groupRunsDataService),
    servers.filter((group) => !groupRunsDataService(group)),
  ];
  return [...withData, ...without].flatMap((group) => Array.from({ length: group.size }, () => group));
}

export interface NodeChange {
  /** The group of each new node. */
  readonly added: readonly ServerGroup[];
  readonly leaving: readonly NodeRow[];
}

/** A node stays if a requested group still needs a node of its memory and services; of several such nodes the oldest stay. */
export function nodeChange(
  rows: readonly NodeRow[],
  requested: readonly ServerGroup[],
  matches: NodeMatcher,
): NodeChange {
  const unmatched = rows.filter(stays).sort((a, b) => a.position - b.position);
  const added = groupOfEach(requested).filter((group) => {
    const index = unmatched.findIndex((row) => matches(row, group));
    if (index >= 0) unmatched.splice(index, 1);
    return index < 0;
  });
  return { added, leaving: unmatched };
}

/** True if the node has the memory and the services of the group. */
export type NodeMatcher = (row: NodeRow, group: ServerGroup) => boolean;

/**
 * `present`: the groups for which the nodes were made. If the size scale has changed since, the instances of the groups are compared:
 * the memory of a node is then that of another instance, or of none.
 */
export function nodeMatcher(
  rows: readonly NodeRow[],
  present: readonly ServerGroup[],
  capacity: Capacity,
): NodeMatcher {
  const instances = instancesOf(rows.filter(stays), present);
  const isSameScale = [...instances].every(
    ([row, memoryGib]) => row.memory_mb === capacity.memoryMb(memoryGib),
  );
  return (row, { memoryGib, services }) =>
    sameServices(servicesOfNode(row), services) &&
    (isSameScale ? row.memory_mb === capacity.memoryMb(memoryGib) : instances.get(row) === memoryGib);
}

/** The GiB of the instance of each node: of the nodes with the same services, one with more memory is of a larger instance. */
function instancesOf(rows: readonly NodeRow[], present: readonly ServerGroup[]): Map<NodeRow, number> {
  const groups = groupOfEach(present).sort((a, b) => a.memoryGib - b.memoryGib);
  const instances = new Map<NodeRow, number>();
  for (const row of rows.toSorted((a, b) => a.memory_mb - b.memory_mb)) {
    const index = groups.findIndex(({ services }) => sameServices(servicesOfNode(row), services));
    const [group] = index < 0 ? [] : groups.splice(index, 1);
    if (group !== undefined) instances.set(row, group.memoryGib);
  }
  return instances;
}

const stays = ({ state }: NodeRow): boolean => state !== 'leaving';

const servicesOfNode = ({ services }: NodeRow): string[] => JSON.parse(services) as string[];

export const sameServices = (a: readonly string[], b: readonly string[]): boolean =>
  a.toSorted().join() === b.toSorted().join();

/** MB for buckets on each node: the memory of the smallest node that runs the data service. */
export const memoryForData = (rows: readonly NodeRow[]): number =>
  Math.min(...rows.filter(nodeRunsDataService).map(({ memory_mb }) => memory_mb));

export const nodeRunsDataService = (row: NodeRow): boolean => servicesOfNode(row).includes('data');

export const groupRunsDataService = ({ services }: Pick<ServerGroup, 'services'>): boolean =>
  services.includes('data');
