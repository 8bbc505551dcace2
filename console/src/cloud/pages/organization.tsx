// Who and what the organization has: its clouds, its people, and how tokens are made.
import { Page } from '../../kit/notices.tsx';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { PagedTable, usePaged } from '../paged.tsx';

export function Content() {
  const clouds = usePaged((query, signal) =>
    call(routes.clouds, { query: { ...query, sortBy: 'name.asc' }, signal }),
  );
  const people = usePaged((query, signal) =>
    call(routes.organizationUsers, { query: { ...query, sortBy: 'name.asc' }, signal }),
  );
  return (
    <Page title="Organization">
      <h2>Clouds</h2>
      <PagedTable
        caption="Clouds"
        columns={[
          { label: 'Name', value: ({ name }) => name },
          { label: 'Provider', value: ({ provider }) => provider },
          { label: 'Region', value: ({ region }) => region },
          { label: 'Network', value: ({ virtualNetworkCIDR }) => virtualNetworkCIDR },
          { label: 'Status', value: ({ status }) => status },
        ]}
        paged={clouds}
        rowKey={({ id }) => id}
        empty={
          <CommandHint text="There are no clouds. The operator adds one:" command="divan cloud cloud add" />
        }
      />
      <h2>People</h2>
      <PagedTable
        caption="People"
        columns={[
          { label: 'Name', value: ({ name }) => name },
          { label: 'Mail', value: ({ email }) => email },
        ]}
        paged={people}
        rowKey={({ id }) => id}
        empty={
          <CommandHint text="There are no people. The operator adds them:" command="divan cloud user add" />
        }
      />
      <h2>Tokens</h2>
      <p>The API neither lists nor makes tokens. The operator does, on the machine of the cloud:</p>
      <pre>{`divan cloud token create --role organizationOwner --expires 90d
divan cloud token list
divan cloud token revoke ID`}</pre>
    </Page>
  );
}

function CommandHint({ text, command }: { text: string; command: string }) {
  return (
    <>
      {text} <span class="mono">{command}</span>
    </>
  );
}
