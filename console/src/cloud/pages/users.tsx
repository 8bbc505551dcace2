// The database users of a cluster, as which applications connect.
import { useState } from 'preact/hooks';
import { Button, EditAndDelete } from '../../kit/controls.tsx';
import { ConfirmByName } from '../../kit/dialog.tsx';
import { Loaded } from '../../kit/notices.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { useResource } from '../../kit/use-resource.ts';
import { call } from '../api/client.ts';
import { type DatabaseUser, routes } from '../api/routes.ts';
import type { PartProps } from './cluster.tsx';
import { accessText, UserDialog } from './user-dialog.tsx';

type Open = { readonly what: 'create' } | { readonly what: 'edit' | 'delete'; readonly user: DatabaseUser };

export function Users({ cluster: { id } }: PartProps) {
  const users = useResource((signal) => call(routes.users, { path: { id }, signal }), [id]);
  const [open, setOpen] = useState<Open>();
  const close = () => {
    setOpen(undefined);
    users.reload();
  };
  const columns: readonly Column<DatabaseUser>[] = [
    { label: 'User', value: ({ username }) => username },
    { label: 'Access', value: ({ access }) => access.map(accessText).join('; ') || 'none' },
    {
      label: 'Actions',
      value: (user) => <EditAndDelete name={user.username} onOpen={(what) => setOpen({ what, user })} />,
    },
  ];
  return (
    <>
      <div class="row">
        <Button kind="main" onClick={() => setOpen({ what: 'create' })}>
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
      {open?.what === 'create' && <UserDialog cluster={id} onClose={close} />}
      {open?.what === 'edit' && <UserDialog cluster={id} user={open.user} onClose={close} />}
      {open?.what === 'delete' && (
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
