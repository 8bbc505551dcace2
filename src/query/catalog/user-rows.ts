// Rows of system:user_info, system:my_user_info and system:applicable_roles, read from the node's REST API with the credentials of
// the request: the roles of that user decide which rows the node returns.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { PlainRow } from '../query.contract.ts';
import type { RowSource } from './row-source.ts';

interface ShownUser {
  id: string;
  domain: string;
  name?: string;
  roles?: { role: string; bucket_name?: string; scope_name?: string; collection_name?: string }[];
}

async function readRest(source: RowSource, path: string): Promise<unknown> {
  const { credential } = source.session;
  if (credential === null) throw sqlError(11000, 'user information needs a password, not a certificate');
  const { status, body } = await source.service.deps.rest.request(credential, 'GET', path);
  if (status !== 200) throw sqlError(11000, `user information: the administration API answered ${status}`);
  return JSON.parse(body) as unknown;
}

export async function userRows(source: RowSource, { onlyOwn }: { onlyOwn: boolean }): Promise<PlainRow[]> {
  const users = onlyOwn ? [(await readRest(source, '/whoami')) as ShownUser] : await allUsers(source);
  return users.map((user) => ({
    id: `${user.domain}:${user.id}`,
    value: { domain: user.domain, id: user.id, name: user.name ?? '', roles: user.roles ?? [] },
  }));
}

const allUsers = async (source: RowSource): Promise<ShownUser[]> =>
  (await readRest(source, '/settings/rbac/users')) as ShownUser[];

export async function roleRows(source: RowSource): Promise<PlainRow[]> {
  const rows: PlainRow[] = [];
  for (const { id: grantee, domain, roles = [] } of await allUsers(source)) {
    for (const { role, bucket_name, scope_name, collection_name } of roles) {
      const value = { grantee: `${domain}:${grantee}`, role, bucket_name, scope_name, collection_name };
      rows.push({ id: JSON.stringify(value), value });
    }
  }
  return rows;
}
