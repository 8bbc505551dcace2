// GRANT and REVOKE: read the roles of users, change them and write them over the node's REST API.
import type { KeyspaceName } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { PlainCommand } from '#sqlpp/run/commands.ts';
import type { CommandContext } from './command-context.ts';

/**
 * How often a change is tried while other nodes change the same roles first. The pauses between the attempts grow by `repeatMs`, since this
 * node may learn late of those changes.
 */
const attemptsMax = 10;
const repeatPauseMs = 20;

type RoleCommand = Extract<PlainCommand, { kind: 'GRANT_ROLE' | 'REVOKE_ROLE' }>;

interface ShownRole {
  role: string;
  bucket_name?: string;
  scope_name?: string;
  collection_name?: string;
  origins?: { type: string }[];
}

interface ShownUser {
  roles?: ShownRole[];
  /** Sent with each change, as the groups are, which would otherwise remove it. */
  name?: string;
  groups?: readonly string[];
}

export async function changeRoles(command: RoleCommand, given: CommandContext): Promise<void> {
  const changed = command.roles.flatMap((role) =>
    command.targets.length === 0 ? [role] : command.targets.map((target) => `${role}[${targetText(target)}]`),
  );
  for (const user of command.users) {
    const path = `/settings/rbac/users/${pathOf(user)}`;
    await given.service.roleChanges.run(path, () => changeOne(command.kind, given, path, user, changed));
  }
}

/** `local:ann`, `external:ann`, or `ann` for a local user. */
function pathOf(user: string): string {
  const [, domain = 'local', name = ''] = /^(?:(local|external):)?(.*)$/s.exec(user) ?? [];
  return `${domain}/${encodeURIComponent(name)}`;
}

/** As published, a role on the default collection is one on its bucket. */
function targetText({ bucket, scope, collection }: KeyspaceName): string {
  if (scope === '') return bucket;
  if (collection === '') return `${bucket}:${scope}`;
  return scope === '_default' && collection === '_default' ? bucket : `${bucket}:${scope}:${collection}`;
}

/** Repeats the change where another node changed the user after its roles were read. */
async function changeOne(
  kind: RoleCommand['kind'],
  context: CommandContext,
  path: string,
  user: string,
  changed: readonly string[],
): Promise<void> {
  const { clock } = context.service.deps;
  for (let attempt = 1; ; attempt++) {
    const refused = await tryChange(kind, context, path, user, changed);
    if (refused === null) return;
    if (attempt === attemptsMax) throw sqlError(5270, `The roles of ${user} cannot be changed: ${refused}`);
    await clock.sleep(attempt * repeatPauseMs);
  }
}

/** Returns why the change was refused if another one came first. */
async function tryChange(
  kind: RoleCommand['kind'],
  { service, session }: CommandContext,
  path: string,
  user: string,
  changed: readonly string[],
): Promise<string | null> {
  const { credential } = session;
  if (credential === null)
    throw sqlError(5270, 'GRANT and REVOKE need a login with a password; a certificate is not enough');
  const { rest } = service.deps;
  const found = await rest.request(credential, 'GET', path);
  if (found.status === 404) throw sqlError(5210, user);
  if (found.status !== 200) throw sqlError(5270, `The roles of ${user} cannot be read: ${found.body.trim()}`);
  const { roles = [], name, groups = [] } = JSON.parse(found.body) as ShownUser;
  const present = roles.filter(isOwn).map(roleText);
  const wanted =
    kind === 'GRANT_ROLE'
      ? [...new Set([...present, ...changed])]
      : present.filter((role) => !changed.includes(role));
  const fields: Record<string, string> = { roles: wanted.join(',') };
  if (name !== undefined) fields['name'] = name;
  if (groups.length > 0) fields['groups'] = groups.join(',');
  const answer = await rest.request(credential, 'PUT', path, fields, found.tag);
  if (answer.status === 412) return answer.body.trim();
  if (answer.status >= 300)
    throw sqlError(5270, `The roles of ${user} cannot be changed: ${answer.body.trim()}`);
  return null;
}

/** True for a role of the user itself, not of a group. */
const isOwn = ({ origins }: ShownRole): boolean =>
  origins === undefined || origins.some(({ type }) => type === 'user');

function roleText({ role, bucket_name, scope_name, collection_name }: ShownRole): string {
  const names = [bucket_name, scope_name, collection_name].filter(
    (name) => name !== undefined && !(name === '*' && bucket_name !== name),
  );
  return names.length === 0 ? role : `${role}[${names.join(':')}]`;
}
