// One cluster and its parts: each part is a page with an address of its own.
import type { ComponentType } from 'preact';
import { Loaded, Page } from '../../kit/notices.tsx';
import { useResource } from '../../kit/use-resource.ts';
import type { PageProps } from '../../shell/page-entry.ts';
import { addressTo } from '../../shell/router.ts';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { isChanging, StatusBadge } from '../status.tsx';
import { Allowlist } from './allowlist.tsx';
import { Buckets } from './buckets.tsx';
import { ClusterOverview } from './cluster-overview.tsx';
import type { PartProps } from './cluster-part.ts';
import { Connect } from './connect.tsx';
import { OperationLine } from './operation-line.tsx';
import { Users } from './users.tsx';

const parts: Readonly<Record<string, { readonly title: string; readonly Part: ComponentType<PartProps> }>> = {
  '': { title: 'Overview', Part: ClusterOverview },
  buckets: { title: 'Buckets', Part: Buckets },
  allowlist: { title: 'Allowlist', Part: Allowlist },
  users: { title: 'Database users', Part: Users },
  connect: { title: 'Connect', Part: Connect },
};

const [whileChangingMs, whileIdleMs] = [1_000, 10_000];

export function Content({ address }: PageProps) {
  const [id = '', part = ''] = address.parts;
  const operation = address.query['operation'];
  const cluster = useResource(
    (signal) => call(routes.cluster, { path: { id }, signal }),
    [id],
    ({ status }) => (isChanging(status) ? whileChangingMs : whileIdleMs),
  );
  const problemStatus = cluster.problem?.status;
  // A token of one project gets 403 for a cluster that does not exist, as for one of another project.
  const isGone = problemStatus === 404 || problemStatus === 403;
  const { Part } = (Object.hasOwn(parts, part) && parts[part]) || { Part: undefined };
  return (
    <Page
      title={cluster.data?.name ?? 'Cluster'}
      actions={cluster.data && !isGone && <StatusBadge status={cluster.data.status} />}
    >
      {operation && <OperationLine key={operation} id={operation} onEnd={cluster.reload} />}
      {isGone ? (
        <p class="empty">
          {problemStatus === 403
            ? 'The cluster does not exist, or this token has no role for it.'
            : 'The cluster does not exist, or not any more.'}{' '}
          <a href={addressTo(['clusters'])}>All clusters</a>
        </p>
      ) : (
        <>
          <PartLinks id={id} part={part} operation={operation} />
          <Loaded from={cluster}>
            {(data) =>
              Part ? (
                <Part key={id} cluster={data} reload={cluster.reload} />
              ) : (
                <p>A cluster has no page “{part}”.</p>
              )
            }
          </Loaded>
        </>
      )}
    </Page>
  );
}

function PartLinks({ id, part, operation }: { id: string; part: string; operation: string | undefined }) {
  return (
    <nav aria-label="Cluster" class="parts">
      <ul>
        {Object.entries(parts).map(([name, { title }]) => (
          <li key={name}>
            <a
              href={addressTo(
                name === '' ? ['cluster', id] : ['cluster', id, name],
                operation ? { operation } : {},
              )}
              aria-current={name === part ? 'page' : undefined}
            >
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
