// The nodes of a cluster: groups with the same instance and services.
import { awsInstances, azureInstances, gcpInstances } from '../../../../src/cloud/clusters/instances.ts';
import { Button, Checkbox, Field, Select } from '../../kit/controls.tsx';
import type { Cluster } from '../api/routes.ts';

export type Provider = 'aws' | 'azure' | 'gcp';

const instances: Readonly<Record<Provider, Readonly<Record<string, number>>>> = {
  aws: awsInstances,
  azure: azureInstances,
  gcp: gcpInstances,
};
const defaultInstance = { aws: 'm5.xlarge', azure: 'Standard_D4s_v3', gcp: 'n2-standard-4' } as const;
const offeredServices = ['data', 'index', 'query'] as const;
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
export const groupsOf = ({ servers }: Pick<Cluster, 'servers'>): Group[] =>
  servers.map((server) => ({ ...server, size: String(server.size) }));

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

interface ServerGroupsProps {
  readonly provider: Provider;
  readonly groups: readonly Group[];
  readonly onChange: (groups: readonly Group[]) => void;
  readonly problemOf: (field: string) => string | undefined;
}

export function ServerGroups({ provider, groups, onChange, problemOf }: ServerGroupsProps) {
  const change = (at: number, part: Partial<Group>) =>
    onChange(groups.map((group, index) => (index === at ? { ...group, ...part } : group)));
  return (
    <>
      {groups.map((group, at) => {
        // The field of a problem contains the number of the group, unless the problem is about all groups.
        const problem = (field: string) =>
          problemOf(`servers.${at}.${field}`) ??
          problemOf(`servers.${at}.${provider}.${field}`) ??
          (at === 0 ? problemOf(`servers.${field}`) : undefined);
        return (
          <fieldset key={at}>
            <legend>{groups.length === 1 ? 'Nodes' : `Nodes, group ${at + 1}`}</legend>
            <div class="row fields">
              <Field
                label="Number of nodes"
                type="number"
                value={group.size}
                onInput={(size) => change(at, { size })}
                problem={problem('size')}
                required
              />
              <Select
                label="Instance"
                value={group.compute}
                onChange={(compute) => change(at, { compute })}
                options={instanceOptions(provider, group.compute)}
                problem={problem('compute') ?? problem('instanceSize')}
              />
            </div>
            <Services group={group} onChange={(services) => change(at, { services })} />
            {problem('services') && <p class="problem">{problem('services')}</p>}
            {groups.length > 1 && (
              <Button onClick={() => onChange(groups.filter((_, index) => index !== at))}>
                Remove group {at + 1}
              </Button>
            )}
          </fieldset>
        );
      })}
      <Button onClick={() => onChange([...groups, newGroup(provider)])}>Add group</Button>
      {problemOf('servers') && <p class="problem">{problemOf('servers')}</p>}
    </>
  );
}

function Services({ group, onChange }: { group: Group; onChange: (services: readonly string[]) => void }) {
  return (
    <div class="row">
      {offeredServices.map((service) => (
        <Checkbox
          key={service}
          label={service}
          checked={group.services.includes(service)}
          onChange={(isChosen) =>
            onChange(
              offeredServices.filter((each) => (each === service ? isChosen : group.services.includes(each))),
            )
          }
        />
      ))}
    </div>
  );
}

function instanceOptions(provider: Provider, present: string) {
  const offered = Object.entries(instances[provider]).map(
    ([name, memoryGib]) => [name, `${name} (${memoryGib} GiB)`] as const,
  );
  return offered.some(([name]) => name === present) ? offered : [[present, present] as const, ...offered];
}
