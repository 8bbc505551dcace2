// Groups of users: create, edit, delete.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button, EditAndDelete } from '../kit/controls.tsx';
import { ConfirmByName } from '../kit/dialog.tsx';
import { Loaded } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useResource } from '../kit/use-resource.ts';
import { type Group, GroupDialog } from './group-dialog.tsx';
import { roleText } from './roles-field.tsx';

type OpenDialog =
  | { readonly dialog: 'create' }
  | { readonly dialog: 'edit' | 'delete'; readonly group: Group };

export function Groups() {
  const groups = useResource((signal) => call<Group[]>(routes.groups, { signal }), [], 10_000);
  const [open, setOpen] = useState<OpenDialog>();
  const close = () => {
    setOpen(undefined);
    groups.reload();
  };
  return (
    <section aria-label="Groups">
      <h2>Groups</h2>
      <Loaded from={groups}>
        {(list) => (
          <Table
            caption="Groups"
            columns={columns((dialog, group) => setOpen({ dialog, group }))}
            rows={list}
            rowKey={({ id }) => id}
            empty="There are no groups. A group gives its roles to all of its users."
          />
        )}
      </Loaded>
      <div class="row pages">
        <Button onClick={() => setOpen({ dialog: 'create' })}>Create group</Button>
      </div>
      {open?.dialog === 'create' && <GroupDialog onClose={close} />}
      {open?.dialog === 'edit' && <GroupDialog group={open.group} onClose={close} />}
      {open?.dialog === 'delete' && (
        <ConfirmByName
          title="Delete the group"
          name={open.group.id}
          action="Delete group"
          onConfirm={() => call(routes.deleteGroup, { path: { group: open.group.id } })}
          onClose={close}
        >
          Its users lose the roles of the group.
        </ConfirmByName>
      )}
    </section>
  );
}

const columns = (onOpen: (dialog: 'edit' | 'delete', group: Group) => void): readonly Column<Group>[] => [
  { label: 'Group', value: ({ id }) => id },
  { label: 'Description', value: ({ description }) => description ?? '' },
  { label: 'Roles', value: ({ roles }) => roles.map(roleText).join(', ') },
  {
    label: 'Actions',
    value: (group) => <EditAndDelete name={group.id} onOpen={(dialog) => onOpen(dialog, group)} />,
  },
];
