// The form of a database user: name, password, and what the user may do in which bucket.
import { Button, Field, Select } from '../../kit/controls.tsx';
import { FormDialog } from '../../kit/dialog.tsx';
import { Problem } from '../../kit/notices.tsx';
import { useForm } from '../../kit/use-form.ts';
import { useResource } from '../../kit/use-resource.ts';
import { call } from '../api/client.ts';
import { type DatabaseUser, routes } from '../api/routes.ts';

type Access = DatabaseUser['access'][number];
type RightsName = keyof typeof rights;

const rights = {
  both: { text: 'Read and write', roles: ['data_reader', 'data_writer'] },
  read: { text: 'Read', roles: ['data_reader'] },
  write: { text: 'Write', roles: ['data_writer'] },
} as const;

const rightsOf = ({ bucketAccess }: Access): RightsName => {
  if (bucketAccess.length > 1) return 'both';
  return bucketAccess[0] === 'data_writer' ? 'write' : 'read';
};

/** Without a scope, or with scope `*`, the access is to all scopes. */
export function accessText(access: Access): string {
  const { bucketName, scope = '*' } = access;
  const bucket = bucketName === '*' ? 'all buckets' : bucketName;
  const place = scope === '*' ? bucket : `${bucket}, scope ${scope}`;
  return `${rights[rightsOf(access)].text.toLowerCase()}: ${place}`;
}

interface UserDialogProps {
  readonly cluster: string;
  readonly user?: DatabaseUser;
  readonly onClose: () => void;
}

interface Values {
  username: string;
  password: string;
  buckets: readonly Access[];
}

export function UserDialog({ cluster, user, onClose }: UserDialogProps) {
  const form = useForm<Values>({
    username: user?.username ?? '',
    password: '',
    buckets: user?.access ?? [{ bucketName: '*', bucketAccess: [...rights.both.roles] }],
  });
  const { username, password } = form.values;
  const buckets = form.values.buckets.map((access) => ({ ...access }));
  const submit = () =>
    user
      ? call(routes.changeUser, {
          path: { id: cluster, username },
          body: { buckets, ...(password !== '' && { password }) },
        })
      : call(routes.createUser, { path: { id: cluster }, body: { username, password, buckets } });
  return (
    <FormDialog
      title={user ? `Edit ${user.username}` : 'Create a database user'}
      action={user ? 'Save' : 'Create'}
      form={form}
      onSubmit={submit}
      onClose={onClose}
    >
      {!user && <Field label="User name" {...form.text('username')} required />}
      <Field
        label="Password"
        type="password"
        {...form.text('password')}
        autocomplete="new-password"
        required={!user}
        hint={user ? 'Leave it empty to keep the password.' : ''}
      />
      <AccessList
        cluster={cluster}
        list={form.values.buckets}
        onChange={(list) => form.set('buckets', list)}
        problemOf={form.problemOf}
      />
    </FormDialog>
  );
}

interface AccessListProps {
  readonly cluster: string;
  readonly list: readonly Access[];
  readonly onChange: (list: readonly Access[]) => void;
  readonly problemOf: (field: string) => string | undefined;
}

function AccessList({ cluster, list, onChange, problemOf }: AccessListProps) {
  const buckets = useResource((signal) => call(routes.buckets, { path: { id: cluster }, signal }), [cluster]);
  const names = (buckets.data ?? []).map(({ name }) => name);
  const change = (at: number, part: Partial<Access>) =>
    onChange(list.map((access, index) => (index === at ? { ...access, ...part } : access)));
  return (
    <fieldset>
      <legend>Access</legend>
      <Problem problem={buckets.problem} />
      {list.length === 0 && <p class="quiet">None: the user can connect, but reads and writes nothing.</p>}
      {list.map((access, at) => {
        const { bucketName, scope } = access;
        const options = names.includes(bucketName) || bucketName === '*' ? names : [bucketName, ...names];
        return (
          <div key={at} class="row fields">
            <Select
              label="Bucket"
              value={bucketName}
              onChange={(name) =>
                onChange(list.with(at, { bucketName: name, bucketAccess: access.bucketAccess }))
              }
              options={[['*', 'All buckets'], ...options.map((name) => [name, name] as const)]}
              problem={problemOf(`buckets.${at}.bucketName`)}
            />
            {bucketName !== '*' && (
              <Field
                label="Scope"
                value={scope ?? '*'}
                onInput={(name) => change(at, { scope: name })}
                hint="* for all"
                problem={problemOf(`buckets.${at}.scope`)}
              />
            )}
            <Select
              label="Rights"
              value={rightsOf(access)}
              onChange={(name) => change(at, { bucketAccess: [...rights[name as RightsName].roles] })}
              options={Object.entries(rights).map(([name, { text }]) => [name, text] as const)}
            />
            <Button
              label={`Remove access ${at + 1}`}
              onClick={() => onChange(list.filter((_, index) => index !== at))}
            >
              Remove
            </Button>
          </div>
        );
      })}
      <Button
        onClick={() => onChange([...list, { bucketName: names[0] ?? '*', bucketAccess: ['data_reader'] }])}
      >
        Add access
      </Button>
      {problemOf('buckets') && <p class="problem">{problemOf('buckets')}</p>}
    </fieldset>
  );
}
