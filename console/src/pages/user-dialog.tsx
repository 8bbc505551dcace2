// The form of a user: name, password, roles, groups.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Checkbox, Field } from '../kit/controls.tsx';
import { FormDialog } from '../kit/dialog.tsx';
import { Problem } from '../kit/notices.tsx';
import { useForm, wholeRequest } from '../kit/use-form.ts';
import { useResource } from '../kit/use-resource.ts';
import type { Group } from './group-dialog.tsx';
import { type Role, RolesField, roleText } from './roles-field.tsx';

export interface User {
  readonly id: string;
  readonly domain: string;
  readonly name?: string;
  readonly roles: readonly GrantedRole[];
  readonly groups?: readonly string[];
}

interface GrantedRole extends Role {
  /** Who was granted the role: `user` for the user, otherwise a group of the user. */
  readonly origins?: readonly { readonly type: string }[];
}

/** The roles that were granted to the user and not to a group, as the form sends them. */
const ownRoles = ({ roles }: User): string[] =>
  roles
    .filter(({ origins = [{ type: 'user' }] }) => origins.some(({ type }) => type === 'user'))
    .map(roleText);

export function UserDialog({ user, onClose }: { user?: User; onClose: () => void }) {
  const form = useForm({
    id: user?.id ?? '',
    name: user?.name ?? '',
    password: '',
    roles: user ? ownRoles(user) : [],
    groups: user?.groups ?? [],
  });
  const { id, name, password, roles, groups } = form.values;
  const domain = user?.domain ?? 'local';
  const submit = () =>
    call(routes.storeUser, {
      path: { domain, user: id },
      form: {
        name,
        roles: roles.join(','),
        groups: groups.join(','),
        password: password === '' ? undefined : password,
      },
    });
  return (
    <FormDialog
      title={user ? `Edit ${user.id}` : 'Create a user'}
      action={user ? 'Save' : 'Create'}
      form={form}
      onSubmit={submit}
      onClose={onClose}
    >
      {/* The name is part of the path, so the node reports a wrong one as a problem of the whole request. */}
      {!user && <Field label="User" {...form.text('id')} required problem={form.problemOf(wholeRequest)} />}
      <Field label="Full name" {...form.text('name')} />
      {domain === 'local' && (
        <Field
          label="Password"
          type="password"
          {...form.text('password')}
          required={!user}
          autocomplete="new-password"
          hint={user ? 'Leave it empty to keep the password.' : 'At least 6 characters.'}
        />
      )}
      <RolesField
        roles={roles}
        onChange={(chosen) => form.set('roles', chosen)}
        problem={form.problemOf('roles')}
      />
      <GroupsField groups={groups} onChange={(chosen) => form.set('groups', chosen)} />
    </FormDialog>
  );
}

interface GroupsFieldProps {
  readonly groups: readonly string[];
  readonly onChange: (groups: readonly string[]) => void;
}

function GroupsField({ groups, onChange }: GroupsFieldProps) {
  const offered = useResource((signal) => call<Group[]>(routes.groups, { signal }));
  if (!offered.data?.length) return <Problem problem={offered.problem} />;
  return (
    <fieldset>
      <legend>Groups</legend>
      {offered.data.map(({ id, description }) => (
        <Checkbox
          key={id}
          label={description ? `${id}: ${description}` : id}
          checked={groups.includes(id)}
          onChange={(isMember) => onChange(isMember ? [...groups, id] : groups.filter((each) => each !== id))}
        />
      ))}
    </fieldset>
  );
}
