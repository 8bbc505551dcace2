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
  capacity: Capacity,
): NodeChange {
  const unmatched = rows.filter(({ state }) => state !== 'leaving').sort((a, b) => a.position - b.position);
  const added = groupOfEach(requested).filter((group) => {
    const index = unmatched.findIndex((row) => matchesGroup(row, group, capacity));
    if (index >= 0) unmatched.splice(index, 1);
    return index < 0;
  });
  return { added, leaving: unmatched };
}

/** True if the node has the memory and the services of the group. */
export function matchesGroup(row: NodeRow, group: ServerGroup, capacity: Capacity): boolean {
  const services = JSON.parse(row.services) as string[];
  return row.memory_mb === capacity.memoryMb(group.memoryGib) && sameServices(services, group.services);
}

export const sameServices = (a: readonly string[], b: readonly string[]): boolean =>
  a.toSorted().join() === b.toSorted().join();

/** MB for buckets on each node: the memory of the smallest node that runs the data service. */
export const memoryForData = (rows: readonly NodeRow[]): number =>
  Math.min(...rows.filter(nodeRunsDataService).map(({ memory_mb }) => memory_mb));

export const nodeRunsDataService = ({ services }: NodeRow): boolean =>
  (JSON.parse(services) as string[]).includes('data');

export const groupRunsDataService = ({ services }: Pick<ServerGroup, 'services'>): boolean =>
  services.includes('data');
