// The requested cluster in one form for both API versions, and the checks that this release can provide it.
import { invalid } from '../answers/api-error.ts';
import { clusterNodesMax } from './common.ts';

/** `vpc`: in a customer's cloud; `hosted`: in the operator's. */
export type Environment = 'vpc' | 'hosted';

/** Nodes with the same instance and services, one entry of `servers` in a request. Not a failure domain of the nodes. */
export interface ServerGroup {
  /** How many nodes. */
  readonly size: number;
  readonly services: readonly string[];
  /** GiB of the requested instance. */
  readonly memoryGib: number;
  /** v2: the provider of the instance; absent if the group names none. */
  readonly provider?: string | undefined;
  /** The server group as sent; reads return it. */
  readonly asked: unknown;
}

export interface ClusterSpec {
  readonly servers: readonly ServerGroup[];
  /** The support plan as sent; stored and returned without effect. */
  readonly support: unknown;
  /** v3 only: provider, region and network as sent. */
  readonly place?: unknown;
}

/** The services that nodes offer. */
const offeredServices = ['data', 'index', 'query'];

/** Refuses servers that this release cannot provide; the error names what it cannot provide. */
export function refuseUnoffered(servers: readonly Pick<ServerGroup, 'size' | 'services'>[]): void {
  const missing = servers
    .flatMap(({ services }) => services)
    .find((service) => !offeredServices.includes(service));
  if (missing !== undefined)
    throw invalid(
      `servers.services: nodes do not offer "${missing}" yet; they offer ${offeredServices.join(', ')}`,
    );
  if (!servers.some(({ services }) => services.includes('data')))
    throw invalid('servers.services: a cluster needs "data": one server group must name it');
  if (nodeCount(servers) > clusterNodesMax)
    throw invalid(
      `servers.size: a cluster has at most ${clusterNodesMax} nodes over all groups, not ${nodeCount(servers)}`,
    );
}

/** The instance type must belong to the provider of the cloud. */
export function refuseOtherProviders(
  servers: readonly ServerGroup[],
  cloud: { readonly id: string; readonly provider: string },
): void {
  for (const [i, { provider }] of servers.entries())
    if (provider !== undefined && provider !== cloud.provider)
      throw invalid(
        `servers.${i}.${provider}: the provider of cloud ${cloud.id} is ${cloud.provider}: leave "${provider}" out`,
      );
}

/** How long the worker retries the failed steps of an operation on this many nodes. */
export const operationLimitMs = (nodes: number): number => 120_000 + 30_000 * nodes;

export const nodeCount = (servers: readonly Pick<ServerGroup, 'size'>[]): number =>
  servers.reduce((sum, { size }) => sum + size, 0);
export const servicesOf = (servers: readonly Pick<ServerGroup, 'services'>[]): string[] => [
  ...new Set(servers.flatMap(({ services }) => services)),
];
