// The nodes of a cluster as a form has them, and as the two versions of the API do.
import { awsInstances, azureInstances, gcpInstances } from '../../../../src/cloud/clusters/instances.ts';
import type { Cluster } from '../api/routes.ts';

export type Provider = 'aws' | 'azure' | 'gcp';

export const instances: Readonly<Record<Provider, Readonly<Record<string, number>>>> = {
  aws: awsInstances,
  azure: azureInstances,
  gcp: gcpInstances,
};
/** Instances of 16 GiB, which is what v2 gives a node for which no instance was requested. */
const defaultInstance = { aws: 'm5.xlarge', azure: 'Standard_D4s_v3', gcp: 'n2-standard-4' } as const;
export const offeredServices = ['data', 'index', 'query'] as const;
const storageTypes = ['GP3', 'IO2', 'PD-SSD'] as const;
const storageMinGib = 50;

type Service = (typeof offeredServices)[number];

export interface Group {
  readonly size: string;
  readonly compute: string;
  readonly services: readonly string[];
  readonly storage: { readonly type: string; readonly IOPS: number; readonly size: number };
}

export const newGroup = (provider: Provider): Group => ({
  size: '1',
  compute: defaultInstance[provider],
  services: offeredServices,
  storage: { type: 'GP3', IOPS: 3_000, size: storageMinGib },
});

/** The groups of a cluster as the fields of a form. */
export const groupsOf = ({ servers, place }: Pick<Cluster, 'place' | 'servers'>): Group[] =>
  servers.map((server) => ({
    ...server,
    size: String(server.size),
    compute: server.compute || defaultInstance[place.provider as Provider],
  }));

/** The groups in the form of the v3 API. A cluster that was made through v2 may have storage that v3 does not name. */
export const serversOf = (groups: readonly Group[]) =>
  groups.map(({ size, compute, services, storage }) => ({
    size: Number(size),
    compute,
    services: services as Service[],
    storage: {
      type: storageTypes.find((type) => type === storage.type) ?? 'GP3',
      IOPS: storage.IOPS,
      size: Math.max(storageMinGib, storage.size),
    },
  }));

/** Whether v2 has a field for the instances of this provider. */
export const namesInstances = (provider: Provider): boolean => provider !== 'gcp';

/** The groups in the form of the v2 API. */
export const serversInCloud = (groups: readonly Group[], provider: Provider) =>
  serversOf(groups).map(({ size, services, compute, storage }) => ({
    size,
    services,
    ...(provider === 'aws' && { aws: { instanceSize: compute, ebsSizeGib: storage.size } }),
    ...(provider === 'azure' && { azure: { instanceSize: compute, volumeType: 'P4' as const } }),
  }));
