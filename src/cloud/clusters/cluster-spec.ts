// What was asked for, in one form for both API versions, and how much of this machine that takes.
import { invalid } from '../answers/api-error.ts';

/** `vpc`: in a customer's cloud. */
export type Environment = 'vpc' | 'hosted';

export interface ServerGroup {
  /** How many nodes. */
  readonly size: number;
  readonly services: readonly string[];
  /** GiB of the instance asked for. */
  readonly memoryGib: number;
  /** v2: whose instance it is; absent when the group names none. */
  readonly provider?: string | undefined;
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

/** An instance is of the provider whose cloud it runs in. */
export function refuseOtherProviders(
  servers: readonly ServerGroup[],
  cloud: { readonly id: string; readonly provider: string },
): void {
  for (const [i, { provider }] of servers.entries())
    if (provider !== undefined && provider !== cloud.provider)
      throw invalid(`servers.${i}.${provider}: must be left out: cloud ${cloud.id} is of ${cloud.provider}`);
}

export const nodeCount = (servers: readonly Pick<ServerGroup, 'size'>[]): number =>
  servers.reduce((sum, { size }) => sum + size, 0);
export const servicesOf = (servers: readonly ServerGroup[]): string[] => [
  ...new Set(servers.flatMap(({ services }) => services)),
];
