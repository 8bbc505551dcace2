// The rows of the nodes of a cluster: those that a request adds, and those that it leaves without a place.
import type { Random } from '#ports/random.ts';
import type { NodeRow } from '../store/tables.ts';
import type { Capacity } from './capacity.ts';
import type { ServerGroup } from './cluster-spec.ts';

export interface NewNodes {
  readonly clusterId: string;
  readonly home: string;
  /** One for each node. */
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

/** One for each node, those that run the data service first: the founder, which is the first node, has to be one of them. */
export function groupOfEach(servers: readonly ServerGroup[]): ServerGroup[] {
  const [withData, without] = [servers.filter(groupHasData), servers.filter((group) => !groupHasData(group))];
  return [...withData, ...without].flatMap((group) => Array.from({ length: group.size }, () => group));
}

export interface NodeChange {
  /** One for each node. */
  readonly added: readonly ServerGroup[];
  readonly leaving: readonly NodeRow[];
}

/** Nodes stay if the request still has a place for a node of their memory and services; the oldest ones take the places first. */
export function nodeChange(
  rows: readonly NodeRow[],
  wanted: readonly ServerGroup[],
  capacity: Capacity,
): NodeChange {
  const unmatched = rows.filter(({ state }) => state !== 'leaving').sort((a, b) => a.position - b.position);
  const added = groupOfEach(wanted).filter((group) => {
    const at = unmatched.findIndex((row) => isOf(row, group, capacity));
    if (at >= 0) unmatched.splice(at, 1);
    return at < 0;
  });
  return { added, leaving: unmatched };
}

/** True if the node has the memory and the services of the group. */
function isOf(row: NodeRow, group: ServerGroup, capacity: Capacity): boolean {
  const services = JSON.parse(row.services) as string[];
  return row.memory_mb === capacity.memoryMb(group.memoryGib) && sameServices(services, group.services);
}

export const sameServices = (a: readonly string[], b: readonly string[]): boolean =>
  a.toSorted().join() === b.toSorted().join();

/** MB for buckets on each node: what the smallest node that runs the data service has. */
export const memoryForData = (rows: readonly NodeRow[]): number =>
  Math.min(...rows.filter(rowHasData).map(({ memory_mb }) => memory_mb));

export const rowHasData = ({ services }: NodeRow): boolean =>
  (JSON.parse(services) as string[]).includes('data');

export const groupHasData = ({ services }: Pick<ServerGroup, 'services'>): boolean =>
  services.includes('data');
