// The form of a new cluster: hosted (v3), or in a cloud of the organization (v2).
import type { ApiError } from '../../api/request.ts';
import { Field, Select } from '../../kit/controls.tsx';
import { FormDialog } from '../../kit/dialog.tsx';
import { Problem } from '../../kit/notices.tsx';
import { type FormState, useForm } from '../../kit/use-form.ts';
import { useResource } from '../../kit/use-resource.ts';
import { go } from '../../shell/router.ts';
import { call, change } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import {
  type Group,
  namesInstances,
  newGroup,
  type Provider,
  serversInCloud,
  serversOf,
} from './cluster-servers.ts';
import { ServerGroups } from './server-groups.tsx';

const defaultRegion: Readonly<Record<Provider, string>> = {
  aws: 'us-east-1',
  azure: 'eastus',
  gcp: 'us-east1',
};

interface CreateClusterDialogProps {
  readonly projectId: string | undefined;
  readonly onClose: () => void;
}

interface Values {
  clusterName: string;
  description: string;
  projectId: string;
  /** `hosted`, or the id of a cloud. */
  environment: string;
  provider: Provider;
  region: string;
  CIDR: string;
  groups: readonly Group[];
}

export function CreateClusterDialog({ projectId, onClose }: CreateClusterDialogProps) {
  const { projects, clouds, problem, isLoaded } = useChoices();
  const form = useForm<Values>({
    clusterName: '',
    description: '',
    projectId: projectId ?? '',
    environment: 'hosted',
    provider: 'aws',
    region: defaultRegion.aws,
    CIDR: '10.0.16.0/20',
    groups: [newGroup('aws')],
  });
  const { values, problemOf } = form;
  const isHosted = values.environment === 'hosted';
  const chosenProject = values.projectId || (projects[0]?.id ?? '');
  const chooseProvider = (provider: Provider) => {
    if (provider === values.provider) return;
    form.set('provider', provider);
    form.set('region', defaultRegion[provider]);
    form.set('groups', [newGroup(provider)]);
  };
  const submit = async () => {
    const given = { ...values, projectId: chosenProject };
    const { cluster, operation } = isHosted ? await createHosted(given) : await createInCloud(given);
    go(['cluster', cluster], operation === null ? {} : { operation });
  };
  return (
    <FormDialog
      title="Create a cluster"
      action="Create"
      form={form}
      disabled={chosenProject === ''}
      onSubmit={submit}
      onClose={onClose}
    >
      <Problem problem={problem} />
      <Field
        label="Cluster name"
        {...form.text('clusterName')}
        problem={problemOf('clusterName') ?? problemOf('name')}
        required
      />
      <Select
        label="Project"
        value={chosenProject}
        onChange={(id) => form.set('projectId', id)}
        options={projects.map(({ id, name }) => [id, name] as const)}
        problem={problemOf('projectId')}
        hint={isLoaded && projects.length === 0 ? 'There is no project yet: create one first.' : ''}
      />
      <EnvironmentChoice form={form} clouds={clouds} onProvider={chooseProvider} />
      {isHosted && <HostedFields form={form} onProvider={chooseProvider} />}
      <ServerGroups
        provider={values.provider}
        groups={values.groups}
        hasInstances={isHosted || namesInstances(values.provider)}
        onChange={(groups) => form.set('groups', groups)}
        problemOf={problemOf}
      />
    </FormDialog>
  );
}

interface FieldsProps {
  readonly form: FormState<Values>;
  readonly onProvider: (provider: Provider) => void;
}

interface EnvironmentChoiceProps extends FieldsProps {
  readonly clouds: ReturnType<typeof useChoices>['clouds'];
}

function EnvironmentChoice({ form, clouds, onProvider }: EnvironmentChoiceProps) {
  return (
    <Select
      label="Environment"
      value={form.values.environment}
      onChange={(environment) => {
        form.set('environment', environment);
        const cloud = clouds.find(({ id }) => id === environment);
        if (cloud) onProvider(cloud.provider);
      }}
      options={[
        ['hosted', 'Hosted'],
        ...clouds.map(
          ({ id, name, provider, region }) => [id, `Cloud ${name} (${provider}, ${region})`] as const,
        ),
      ]}
      problem={form.problemOf('cloudId') ?? form.problemOf('environment')}
    />
  );
}

function HostedFields({ form, onProvider }: FieldsProps) {
  const { values, problemOf } = form;
  return (
    <>
      <Field label="Description" {...form.text('description')} />
      <div class="row fields">
        <Select
          label="Provider"
          value={values.provider}
          onChange={(provider) => onProvider(provider as Provider)}
          options={['aws', 'azure', 'gcp']}
        />
        <Field label="Region" {...form.text('region')} problem={problemOf('place.hosted.region')} required />
        <Field label="Network" {...form.text('CIDR')} problem={problemOf('place.hosted.CIDR')} required />
      </div>
    </>
  );
}

function useChoices() {
  const projects = useResource((signal) =>
    call(routes.projects, { query: { perPage: '100', sortBy: 'name.asc' }, signal }),
  );
  const clouds = useResource((signal) => call(routes.clouds, { query: { perPage: '100' }, signal }));
  const problem: ApiError | undefined = projects.problem ?? clouds.problem;
  return {
    projects: projects.data?.data ?? [],
    clouds: clouds.data?.data ?? [],
    problem,
    isLoaded: projects.data !== undefined,
  };
}

function createHosted({ clusterName, description, projectId, provider, region, CIDR, groups }: Values) {
  return change(routes.createHosted, {
    body: {
      environment: 'hosted',
      clusterName,
      projectId,
      ...(description !== '' && { description }),
      place: { singleAZ: true, hosted: { provider, region, CIDR } },
      servers: serversOf(groups),
      supportPackage: { timezone: 'GMT', type: 'Basic' },
    },
  });
}

function createInCloud({ clusterName, projectId, environment, provider, groups }: Values) {
  const servers = serversInCloud(groups, provider);
  return change(routes.createInCloud, {
    body: { name: clusterName, cloudId: environment, projectId, servers },
  });
}
