// Users with their roles, and the certificates of the nodes.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button } from '../kit/controls.tsx';
import { ConfirmByName } from '../kit/dialog.tsx';
import { time } from '../kit/format.ts';
import { Loaded, Page } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useResource } from '../kit/use-resource.ts';
import { roleText, type User, UserDialog } from './user-dialog.tsx';

interface Certificate {
  readonly node: string;
  readonly subject: string;
  readonly expires: string;
  readonly type: string;
  readonly warnings: readonly { readonly message: string }[];
}

type Open = { readonly what: 'create' } | { readonly what: 'edit' | 'delete'; readonly user: User };

export function Content() {
  const users = useResource((signal) => call<User[]>(routes.users, { signal }), [], 10_000);
  const certificates = useResource((signal) => call<Certificate[]>(routes.certificates, { signal }));
  const [open, setOpen] = useState<Open>();
  const close = () => {
    setOpen(undefined);
    users.reload();
  };
  return (
    <Page
      title="Security"
      actions={
        <Button kind="main" onClick={() => setOpen({ what: 'create' })}>
          Create user
        </Button>
      }
    >
      <h2>Users</h2>
      <Loaded from={users}>
        {(list) => (
          <Table
            caption="Users"
            columns={userColumns((what, user) => setOpen({ what, user }))}
            rows={list}
            rowKey={({ domain, id }) => `${domain} ${id}`}
            empty="There is only the administrator. Create users with the roles that programs need."
          />
        )}
      </Loaded>
      <h2>Certificates</h2>
      <Loaded from={certificates}>
        {(list) => (
          <Table
            caption="Certificates"
            columns={certificateColumns}
            rows={list}
            rowKey={({ node }) => node}
            empty="The nodes have no certificates."
          />
        )}
      </Loaded>
      {open?.what === 'create' && <UserDialog onClose={close} />}
      {open?.what === 'edit' && <UserDialog user={open.user} onClose={close} />}
      {open?.what === 'delete' && (
        <ConfirmByName
          title="Delete the user"
          name={open.user.id}
          action="Delete user"
          onConfirm={async () => {
            const { domain, id } = open.user;
            await call(routes.deleteUser, { path: { domain, user: id } });
          }}
          onClose={close}
        >
          Programs that use this account can no longer log in.
        </ConfirmByName>
      )}
    </Page>
  );
}

const userColumns = (onOpen: (what: 'edit' | 'delete', user: User) => void): readonly Column<User>[] => [
  { label: 'User', value: ({ id }) => id },
  { label: 'Name', value: ({ name }) => name ?? '' },
  { label: 'Domain', value: ({ domain }) => domain },
  { label: 'Roles', value: ({ roles }) => roles.map(roleText).join(', ') },
  {
    label: 'Actions',
    value: (user) => (
      <div class="row">
        <Button label={`Edit ${user.id}`} onClick={() => onOpen('edit', user)}>
          Edit
        </Button>
        <Button kind="danger" label={`Delete ${user.id}`} onClick={() => onOpen('delete', user)}>
          Delete
        </Button>
      </div>
    ),
  },
];

const certificateColumns: readonly Column<Certificate>[] = [
  { label: 'Node', value: ({ node }) => node },
  { label: 'Subject', value: ({ subject }) => subject },
  { label: 'Kind', value: ({ type }) => type },
  { label: 'Valid until', value: ({ expires }) => time(expires) },
  { label: 'Notes', value: ({ warnings }) => warnings.map(({ message }) => message).join(' ') },
];
