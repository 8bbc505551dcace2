// The form of a group of users: description, roles, and the group of the directory that it stands for.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Field } from '../kit/controls.tsx';
import { FormDialog } from '../kit/dialog.tsx';
import { useForm, wholeRequest } from '../kit/use-form.ts';
import { type Role, RolesField, roleText } from './roles-field.tsx';

export interface Group {
  readonly id: string;
  readonly description?: string;
  readonly roles: readonly Role[];
  readonly ldap_group_ref?: string;
}

export function GroupDialog({ group, onClose }: { group?: Group; onClose: () => void }) {
  const form = useForm({
    id: group?.id ?? '',
    description: group?.description ?? '',
    roles: group?.roles.map(roleText) ?? [],
    ldap_group_ref: group?.ldap_group_ref ?? '',
  });
  const { id, description, roles, ldap_group_ref: directoryGroup } = form.values;
  const submit = () =>
    call(routes.storeGroup, {
      path: { group: id },
      form: {
        description,
        roles: roles.join(','),
        ...(directoryGroup !== '' && { ldap_group_ref: directoryGroup }),
      },
    });
  return (
    <FormDialog
      title={group ? `Edit ${group.id}` : 'Create a group'}
      action={group ? 'Save' : 'Create'}
      form={form}
      onSubmit={submit}
      onClose={onClose}
    >
      {/* The name is part of the path, so the node reports a wrong one as a problem of the whole request. */}
      {!group && <Field label="Group" {...form.text('id')} required problem={form.problemOf(wholeRequest)} />}
      <Field label="Description" {...form.text('description')} />
      <RolesField
        roles={roles}
        onChange={(chosen) => form.set('roles', chosen)}
        problem={form.problemOf('roles')}
      />
      <Field
        label="Group of the LDAP directory"
        {...form.text('ldap_group_ref')}
        mono
        hint="The distinguished name (DN) of that group. Leave it empty for a group that is not in the directory."
      />
    </FormDialog>
  );
}
