// The roles of a user or a group: lists them, adds one, removes one.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button, Field, Select } from '../kit/controls.tsx';
import { Problem } from '../kit/notices.tsx';
import { useResource } from '../kit/use-resource.ts';

export interface Role {
  readonly role: string;
  readonly bucket_name?: string;
  readonly scope_name?: string;
  readonly collection_name?: string;
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

interface RolesFieldProps {
  readonly roles: string[];
  readonly onChange: (roles: string[]) => void;
  readonly problem: string | undefined;
}

export function RolesField({ roles, onChange, problem }: RolesFieldProps) {
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
      <Problem problem={offered.problem} />
      {roles.length === 0 && <p class="quiet">None: nothing is allowed.</p>}
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
      {problem && <p class="problem">{problem}</p>}
    </fieldset>
  );
}
