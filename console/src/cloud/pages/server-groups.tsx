// The nodes of a cluster: groups with the same instance and services.
import { Button, Checkbox, Field, Select } from '../../kit/controls.tsx';
import { type Group, instances, newGroup, offeredServices, type Provider } from './cluster-servers.ts';

interface ServerGroupsProps {
  readonly provider: Provider;
  readonly groups: readonly Group[];
  /** False: the API has no field for the instance, and each node gets the default one. */
  readonly hasInstances?: boolean;
  readonly onChange: (groups: readonly Group[]) => void;
  readonly problemOf: (field: string) => string | undefined;
}

export function ServerGroups({
  provider,
  groups,
  hasInstances = true,
  onChange,
  problemOf,
}: ServerGroupsProps) {
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
              {hasInstances && (
                <Select
                  label="Instance"
                  value={group.compute}
                  onChange={(compute) => change(at, { compute })}
                  options={instanceOptions(provider, group.compute)}
                  problem={problem('compute') ?? problem('instanceSize')}
                />
              )}
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
      {!hasInstances && (
        <p class="quiet">In a {provider} cloud every node gets the default instance of 16 GiB.</p>
      )}
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
