// What was asked for, in one form for both API versions, and how much of this machine that takes.
import { invalid } from '../http/goof.ts';

/** `vpc`: in a customer's cloud. */
export type Environment = 'vpc' | 'hosted';

export interface ServerGroup {
  /** How many nodes. */
  readonly size: number;
  readonly services: readonly string[];
  /** GiB of the instance asked for. */
  readonly memoryGib: number;
  /** The group as it was written, which reads give back. */
  readonly asked: unknown;
}

export interface ClusterSpec {
  readonly servers: readonly ServerGroup[];
  readonly support: unknown;
  /** v3 only. */
  readonly place?: unknown;
}

/** What nodes offer so far. */
const offered = ['data'];

/** A wish that this version cannot fulfil is refused by name, rather than fulfilled in part. */
export function refuseUnoffered(servers: readonly Pick<ServerGroup, 'size' | 'services'>[]): void {
  const missing = servers.flatMap(({ services }) => services).find((service) => !offered.includes(service));
  if (missing !== undefined)
    throw invalid(`servers.services: nodes do not offer "${missing}" yet; they offer ${offered.join(', ')}`);
  if (nodeCount(servers) > 1)
    throw invalid(
      `servers.size: nodes do not join each other yet: a cluster has one node, not ${nodeCount(servers)}`,
    );
}

export const nodeCount = (servers: readonly Pick<ServerGroup, 'size'>[]): number =>
  servers.reduce((sum, { size }) => sum + size, 0);
export const servicesOf = (servers: readonly ServerGroup[]): string[] => [
  ...new Set(servers.flatMap(({ services }) => services)),
];
