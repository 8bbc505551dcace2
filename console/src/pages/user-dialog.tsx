// The form of a user: name, password, roles.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button, Field, Select } from '../kit/controls.tsx';
import { FormDialog } from '../kit/dialog.tsx';
import { useForm } from '../kit/use-form.ts';
import { useResource } from '../kit/use-resource.ts';

export interface Role {
  readonly role: string;
  readonly bucket_name?: string;
  readonly scope_name?: string;
  readonly collection_name?: string;
}

export interface User {
  readonly id: string;
  readonly domain: string;
  readonly name?: string;
  readonly roles: readonly Role[];
  readonly groups?: readonly string[];
}

interface OfferedRole extends Role {
  readonly name: string;
  readonly desc: string;
}

/** As the REST API takes it: `data_reader[travel:inventory]`. */
export function roleText({ role, bucket_name, scope_name, collection_name }: Role): string {
  const parts = [bucket_name, scope_name, collection_name].filter(
    (name) => name !== undefined && name !== '*',
  );
  if (parts.length > 0) return `${role}[${parts.join(':')}]`;
  return bucket_name === '*' ? `${role}[*]` : role;
}

export function UserDialog({ user, onClose }: { user?: User; onClose: () => void }) {
  const form = useForm({
    id: user?.id ?? '',
    name: user?.name ?? '',
    password: '',
    roles: user?.roles.map(roleText) ?? [],
  });
  const { id, name, password, roles } = form.values;
  const domain = user?.domain ?? 'local';
  const submit = () =>
    call(routes.storeUser, {
      path: { domain, user: id },
      form: {
        name,
        roles: roles.join(','),
        groups: user?.groups?.join(','),
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
      {!user && <Field label="User" {...form.text('id')} required problem={form.problemOf('_')} />}
      <Field label="Full name" {...form.text('name')} />
      {domain === 'local' && (
        <Field
          label="Password"
          type="password"
          {...form.text('password')}
          required={!user}
          autocomplete="new-password"
          hint={user ? 'Empty: it stays as it is.' : 'At least 6 characters.'}
        />
      )}
      <Roles roles={roles} onChange={(chosen) => form.set('roles', chosen)} />
      {form.problemOf('roles') && <p class="problem">{form.problemOf('roles')}</p>}
    </FormDialog>
  );
}

function Roles({ roles, onChange }: { roles: string[]; onChange: (roles: string[]) => void }) {
  const offered = useResource((signal) => call<OfferedRole[]>(routes.roles, { signal }));
  const [chosen, setChosen] = useState('');
  const [target, setTarget] = useState('*');
  const role = offered.data?.find((each) => each.role === chosen);
  const hasTarget = role?.bucket_name !== undefined;
  const add = () => {
    const text = hasTarget ? `${chosen}[${target}]` : chosen;
    onChange([...roles.filter((each) => each !== text), text]);
  };
  return (
    <fieldset>
      <legend>Roles</legend>
      {roles.length === 0 && <p class="quiet">None: the user can do nothing.</p>}
      <ul>
        {roles.map((text) => (
          <li key={text}>
            <span class="mono">{text}</span>{' '}
            <Button label={`Remove ${text}`} onClick={() => onChange(roles.filter((each) => each !== text))}>
              Remove
            </Button>
          </li>
        ))}
      </ul>
      <Select
        label="Role"
        value={chosen}
        onChange={setChosen}
        options={[
          ['', 'Choose a role'],
          ...(offered.data ?? []).map((each) => [each.role, `${each.name} (${each.role})`] as const),
        ]}
        hint={role?.desc ?? ''}
      />
      {hasTarget && (
        <Field
          label="For"
          value={target}
          onInput={setTarget}
          hint="A bucket, or bucket:scope:collection; * for all."
        />
      )}
      <Button disabled={chosen === ''} onClick={add}>
        Add role
      </Button>
    </fieldset>
  );
}
