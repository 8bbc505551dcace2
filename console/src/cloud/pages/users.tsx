// The database users of a cluster, as which applications connect.
import { useState } from 'preact/hooks';
import { Button, EditAndDelete } from '../../kit/controls.tsx';
import { ConfirmByName } from '../../kit/dialog.tsx';
import { Loaded } from '../../kit/notices.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { useResource } from '../../kit/use-resource.ts';
import { call } from '../api/client.ts';
import { type DatabaseUser, routes } from '../api/routes.ts';
import type { PartProps } from './cluster-part.ts';
import { accessText, UserDialog } from './user-dialog.tsx';

type OpenDialog =
  | { readonly dialog: 'create' }
  | { readonly dialog: 'edit' | 'delete'; readonly user: DatabaseUser };

export function Users({ cluster: { id } }: PartProps) {
  const users = useResource((signal) => call(routes.users, { path: { id }, signal }), [id]);
  const [open, setOpen] = useState<OpenDialog>();
  const close = () => {
    setOpen(undefined);
    users.reload();
  };
  const columns: readonly Column<DatabaseUser>[] = [
    { label: 'User', value: ({ username }) => username },
    { label: 'Access', value: ({ access }) => access.map(accessText).join('; ') || 'none' },
    {
      label: 'Actions',
      value: (user) => <EditAndDelete name={user.username} onOpen={(dialog) => setOpen({ dialog, user })} />,
    },
  ];
  return (
    <>
      <div class="row">
        <Button kind="main" onClick={() => setOpen({ dialog: 'create' })}>
          Create user
        </Button>
      </div>
      <Loaded from={users}>
        {(list) => (
          <Table
            caption="Database users"
            columns={columns}
            rows={list}
            rowKey={({ userId }) => userId}
            empty="There are no database users. Create one: applications connect as such a user."
          />
        )}
      </Loaded>
      {open?.dialog === 'create' && <UserDialog cluster={id} onClose={close} />}
      {open?.dialog === 'edit' && <UserDialog cluster={id} user={open.user} onClose={close} />}
      {open?.dialog === 'delete' && (
        <ConfirmByName
          title="Delete the database user"
          name={open.user.username}
          action="Delete user"
          onConfirm={() => call(routes.deleteUser, { path: { id, username: open.user.username } })}
          onClose={close}
        >
          Applications that connect as this user lose their access.
        </ConfirmByName>
      )}
    </>
  );
}
