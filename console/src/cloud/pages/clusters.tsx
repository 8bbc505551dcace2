// Clusters of all projects or of one, with their status.
import { useState } from 'preact/hooks';
import { Button, Select } from '../../kit/controls.tsx';
import { Page, Problem } from '../../kit/notices.tsx';
import type { Column } from '../../kit/table.tsx';
import { useResource } from '../../kit/use-resource.ts';
import type { PageProps } from '../../shell/page-entry.ts';
import { addressTo, go } from '../../shell/router.ts';
import { call } from '../api/client.ts';
import { type ClusterItem, type ClusterStatus, routes } from '../api/routes.ts';
import { PagedTable, usePaged } from '../paged.tsx';
import { isChanging, StatusBadge } from '../status.tsx';
import { CreateClusterDialog } from './create-cluster-dialog.tsx';

/** A cluster of the list, with its status and the name of its project, which the list lacks; undefined: it could not be read. */
interface ShownCluster extends ClusterItem {
  readonly status: ClusterStatus | undefined;
  readonly project: string | undefined;
}

/** Long intervals: for each status the cloud sends requests to the nodes of the cluster. */
const [whileChangingMs, whileIdleMs] = [2_000, 15_000];

export function Content({ address }: PageProps) {
  const projectId = address.query['project'];
  const clusters = usePaged(
    async (query, signal) => {
      const { cursor, data } = await call(routes.clusters, {
        query: { ...query, ...(projectId && { projectId }) },
        signal,
      });
      return { cursor, data: await withDetails(data.items, signal) };
    },
    [projectId],
    ({ data }) => (data.some(({ status }) => status && isChanging(status)) ? whileChangingMs : whileIdleMs),
  );
  const [isCreating, setCreating] = useState(false);
  return (
    <Page
      title="Clusters"
      actions={
        <Button kind="main" onClick={() => setCreating(true)}>
          Create cluster
        </Button>
      }
    >
      <ProjectChoice
        chosen={projectId ?? ''}
        onChange={(project) => go(['clusters'], project === '' ? {} : { project })}
      />
      <PagedTable
        caption="Clusters"
        columns={columns}
        paged={clusters}
        rowKey={({ id }) => id}
        empty="There are no clusters. Create one: it is ready in a few seconds."
      />
      {isCreating && <CreateClusterDialog projectId={projectId} onClose={() => setCreating(false)} />}
    </Page>
  );
}

/** Offers the first hundred projects: the cloud sends no more in one answer. */
function ProjectChoice({ chosen, onChange }: { chosen: string; onChange: (id: string) => void }) {
  const projects = useResource((signal) =>
    call(routes.projects, { query: { perPage: '100', sortBy: 'name.asc' }, signal }),
  );
  const options = (projects.data?.data ?? []).map(({ id, name }) => [id, name] as const);
  const isListed = chosen === '' || options.some(([id]) => id === chosen);
  return (
    <>
      <Problem problem={projects.problem} />
      <Select
        label="Project"
        value={chosen}
        onChange={onChange}
        options={[['', 'All projects'], ...options, ...(isListed ? [] : [[chosen, chosen] as const])]}
      />
    </>
  );
}

async function withDetails(items: readonly ClusterItem[], signal: AbortSignal): Promise<ShownCluster[]> {
  const ids = [...new Set(items.map((item) => item.projectId))];
  const names = new Map(
    await Promise.all(ids.map(async (id) => [id, await readOr(nameOf(id, signal))] as const)),
  );
  return await Promise.all(
    items.map(async (item) => ({
      ...item,
      project: names.get(item.projectId),
      status: await readOr(statusOf(item.id, signal)),
    })),
  );
}

const nameOf = async (id: string, signal: AbortSignal) =>
  (await call(routes.project, { path: { id }, signal })).name;

const statusOf = async (id: string, signal: AbortSignal) =>
  (await call(routes.clusterStatus, { path: { id }, signal })).status;

/** A detail that cannot be read, as of a cluster that is deleted between two requests, is shown as unknown. */
const readOr = <T,>(reading: Promise<T>): Promise<T | undefined> => reading.catch(() => undefined);

const columns: readonly Column<ShownCluster>[] = [
  { label: 'Name', value: ({ id, name }) => <a href={addressTo(['cluster', id])}>{name}</a> },
  { label: 'Status', value: ({ status }) => (status ? <StatusBadge status={status} /> : 'unknown') },
  { label: 'Project', value: ({ project }) => project ?? 'unknown' },
  { label: 'Environment', value: ({ environment }) => (environment === 'vpc' ? 'cloud' : environment) },
  { label: 'Id', value: ({ id }) => <span class="mono">{id}</span> },
];
