// Who may do what: users and groups with their roles, certificates, the audit log.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button, EditAndDelete } from '../kit/controls.tsx';
import { ConfirmByName } from '../kit/dialog.tsx';
import { Loaded, Page } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useResource } from '../kit/use-resource.ts';
import { AuditSettings } from './audit.tsx';
import { Certificates } from './certificates.tsx';
import { Groups } from './groups.tsx';
import { roleText } from './roles-field.tsx';
import { type User, UserDialog } from './user-dialog.tsx';

type OpenDialog = { readonly dialog: 'create' } | { readonly dialog: 'edit' | 'delete'; readonly user: User };

export function Content() {
  const users = useResource((signal) => call<User[]>(routes.users, { signal }), [], 10_000);
  const [open, setOpen] = useState<OpenDialog>();
  const close = () => {
    setOpen(undefined);
    users.reload();
  };
  return (
    <Page
      title="Security"
      actions={
        <Button kind="main" onClick={() => setOpen({ dialog: 'create' })}>
          Create user
        </Button>
      }
    >
      <h2>Users</h2>
      <Loaded from={users}>
        {(list) => (
          <Table
            caption="Users"
            columns={userColumns((dialog, user) => setOpen({ dialog, user }))}
            rows={list}
            rowKey={({ domain, id }) => `${domain} ${id}`}
            empty="There is only the administrator. Create users with the roles that programs need."
          />
        )}
      </Loaded>
      <Groups />
      <Certificates />
      <AuditSettings />
      {open?.dialog === 'create' && <UserDialog onClose={close} />}
      {open?.dialog === 'edit' && <UserDialog user={open.user} onClose={close} />}
      {open?.dialog === 'delete' && (
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

const userColumns = (onOpen: (dialog: 'edit' | 'delete', user: User) => void): readonly Column<User>[] => [
  { label: 'User', value: ({ id }) => id },
  { label: 'Name', value: ({ name }) => name ?? '' },
  { label: 'Domain', value: ({ domain }) => domain },
  { label: 'Roles', value: ({ roles }) => roles.map(roleText).join(', ') },
  { label: 'Groups', value: ({ groups = [] }) => groups.join(', ') },
  {
    label: 'Actions',
    value: (user) => <EditAndDelete name={user.id} onOpen={(dialog) => onOpen(dialog, user)} />,
  },
];
