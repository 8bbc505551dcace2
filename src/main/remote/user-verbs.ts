// `divan user`: users of a running node, over its REST API.
import { nodeConnection, passwordOf } from '../connection-options.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import { choice, kinds, UsageError } from '../options.ts';
import { columns } from '../terminal.ts';
import { jsonFlag } from './common-options.ts';
import { givenFields, RemoteNode, urlPath } from './remote-node.ts';
import { verb } from './verb.ts';

const plain = { ...nodeConnection('user with the role security_admin, or more'), json: jsonFlag } as const;
const domain = {
  domain: {
    kind: choice('local', 'external'),
    default: 'local',
    doc: '`local`: the node has the password; `external`: an LDAP server checks it',
  },
} as const;
const newPassword = {
  'new-password': { kind: kinds.text, doc: 'password of the user; better given by environment or file' },
  'new-password-file': { kind: kinds.path, doc: 'file whose first line is that password; -: standard input' },
} as const;
const description = {
  roles: {
    kind: kinds.text,
    repeat: true,
    doc: 'role: admin, data_reader[bucket], data_writer[bucket:scope:collection]',
  },
  groups: { kind: kinds.text, repeat: true, doc: 'group whose roles the user has' },
  name: { kind: kinds.text, doc: 'full name' },
} as const;

interface RawUser {
  readonly id: string;
  readonly name?: string;
  readonly domain: string;
  readonly groups?: readonly string[];
  readonly roles: readonly RawRole[];
}

interface RawRole {
  readonly role: string;
  readonly bucket_name?: string;
  readonly scope_name?: string;
  readonly collection_name?: string;
  readonly origins?: readonly { readonly type: string }[];
}

export const userVerbs = [
  verb('list', 'the users with their roles and groups', plain, async (options) => {
    const users = ((await new RemoteNode(options).get('/settings/rbac/users')) as RawUser[]).map(summaryOf);
    const rows = users.map(({ id, domain: where, roles, groups, name }) => [
      id,
      where,
      roles.join(','),
      groups.join(','),
      name,
    ]);
    const head = ['user', 'domain', 'roles', 'groups', 'name'];
    return { value: users, text: users.length === 0 ? 'no users' : columns([head, ...rows]) };
  }),
  verb(
    'create NAME',
    'creates a user; one that exists is refused',
    { ...plain, ...domain, ...newPassword, ...description },
    async (options, [id = '']) => {
      const node = new RemoteNode(options);
      const path = urlPath`/settings/rbac/users/${options.domain}/${id}`;
      if (await exists(node, path))
        throw new CommandError(
          `user "${id}" exists; change it with divan user edit ${id}${options.domain === 'local' ? '' : ` --domain ${options.domain}`}`,
        );
      const password = newPasswordOf(options);
      if (options.domain === 'local' && password === undefined)
        throw new UsageError(
          'the password of the user is missing: set DIVAN_NEW_PASSWORD, or give --new-password-file PATH',
        );
      await node.request('PUT', path, givenFields({ ...fieldsOf(options), password }));
      return { value: await read(node, path), text: `user "${id}" is created` };
    },
  ),
  verb(
    'edit NAME',
    'changes what is given: password, roles, groups or full name',
    { ...plain, ...domain, ...newPassword, ...description },
    async (options, [id = '']) => {
      const node = new RemoteNode(options);
      const path = urlPath`/settings/rbac/users/${options.domain}/${id}`;
      const present = await read(node, path);
      const given = fieldsOf(options);
      const {
        roles = present.roles.join(','),
        groups = present.groups.join(','),
        name = present.name,
      } = given;
      await node.request('PUT', path, givenFields({ roles, groups, name, password: newPasswordOf(options) }));
      return { value: await read(node, path), text: `user "${id}" is changed` };
    },
  ),
  verb('delete NAME', 'deletes a user', { ...plain, ...domain }, async (options, [id = '']) => {
    await new RemoteNode(options).request('DELETE', urlPath`/settings/rbac/users/${options.domain}/${id}`);
    return { value: { id, domain: options.domain }, text: `user "${id}" is deleted` };
  }),
];

interface GivenNewPassword {
  readonly 'new-password': string | undefined;
  readonly 'new-password-file': string | undefined;
  readonly 'password-file': string | undefined;
}

function newPasswordOf(options: GivenNewPassword): string | undefined {
  const { 'new-password': password, 'new-password-file': file } = options;
  if (password === undefined && file === undefined) return undefined;
  if (file === '-' && options['password-file'] === '-')
    throw new UsageError('--new-password-file and --password-file: both name standard input');
  return passwordOf({ password, 'password-file': file }, 'new-');
}

interface GivenDescription {
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  readonly name: string | undefined;
}

/** What was not given stays undefined; an empty text removes all. */
const fieldsOf = ({ roles, groups, name }: GivenDescription) => ({
  roles: roles.length === 0 ? undefined : roles.join(','),
  groups: groups.length === 0 ? undefined : groups.join(','),
  name,
});

/** @throws CommandError for any answer that does not say so: the user would be replaced */
async function exists(node: RemoteNode, path: string): Promise<boolean> {
  try {
    await node.request('GET', path);
    return true;
  } catch (error) {
    if (error instanceof CommandError && error.status === ExitStatus.missing) return false;
    throw error;
  }
}

const read = async (node: RemoteNode, path: string) => summaryOf((await node.get(path)) as RawUser);

/** Roles that the user has itself, not those of its groups. */
const summaryOf = ({ id, name = '', domain: where, groups = [], roles }: RawUser) => ({
  id,
  domain: where,
  name,
  groups,
  roles: roles
    .filter(({ origins }) => origins === undefined || origins.some(({ type }) => type === 'user'))
    .map(roleText),
});

function roleText({ role, bucket_name, scope_name, collection_name }: RawRole): string {
  const names = [bucket_name, scope_name, collection_name].filter((name) => name !== undefined);
  while (names.length > 1 && names.at(-1) === '*') names.pop();
  return names.length === 0 ? role : `${role}[${names.join(':')}]`;
}
