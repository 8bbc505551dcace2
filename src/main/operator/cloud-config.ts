// The file of `--config`: clouds, users and tokens to create. Existing ones are not changed, so that a cloud can be started with the same
// file repeatedly, and several servers of one database at the same time.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { isProjectRole, roles } from '#cloud/access/caller.ts';
import { findSubject } from '#cloud/access/subjects.ts';
import { TokenStore } from '#cloud/access/tokens.store.ts';
import { ApiError } from '#cloud/answers/api-error.ts';
import { oneOf, text } from '#cloud/answers/component.ts';
import { CloudsService, type NewCloud, newCloud } from '#cloud/clouds/clouds.service.ts';
import { problemsOf } from '#cloud/http/problems.ts';
import {
  type NewOrganizationUser,
  newOrganizationUser,
  OrganizationUsersService,
} from '#cloud/organization-users/organization-users.service.ts';
import type { Store } from '#cloud/store/tables.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { StartError } from '../start-error.ts';
import type { CloudStorage } from './cloud-storage.ts';

const secretMin = 32;
const secretMax = 256;
/** Text that an Authorization header can carry unescaped; a colon would end the access key. */
const isPlain = /^[\x21-\x39\x3b-\x7e]*$/;
const plain = (min: number, max: number) =>
  text(min, max).regex(isPlain, 'must be ASCII without spaces and colons');
const secret = plain(secretMin, secretMax);

const unique = <T>(fieldOf: (one: T) => unknown, name: string) =>
  [
    (list: readonly T[]) => {
      const given = list.map(fieldOf).filter((value) => value !== undefined);
      return new Set(given).size === given.length;
    },
    `must not contain the same ${name} twice`,
  ] as const;

const configToken = z
  .strictObject({
    role: oneOf(roles),
    project: z.guid('must be the id of a project').optional(),
    token: secret,
    accessKey: plain(8, 128).optional(),
    secretKey: secret.optional(),
  })
  .refine(({ role, project }) => isProjectRole(role) === (project !== undefined), {
    path: ['project'],
    error: 'is required with the roles projectOwner and projectViewer, and refused with others',
  });
type ConfigToken = z.output<typeof configToken>;

const configFile = z.strictObject({
  clouds: z
    .array(newCloud)
    .refine(...unique((cloud: NewCloud) => cloud.name, 'name'))
    .default([]),
  users: z
    .array(newOrganizationUser)
    .refine(...unique((user: NewOrganizationUser) => user.email, 'email'))
    .default([]),
  tokens: z
    .array(configToken)
    .refine(...unique(({ token }: ConfigToken) => token, 'token'))
    .refine(...unique(({ accessKey }: ConfigToken) => accessKey, 'accessKey'))
    .default([]),
});

const ports = { clock: realClock, random: realRandom };

export async function applyConfig(path: string, { store, secrets }: CloudStorage): Promise<void> {
  const config = read(path);
  const clouds = new CloudsService({ ...ports, store });
  for (const cloud of config.clouds) await clouds.addMissing(cloud);
  const organizationUsers = new OrganizationUsersService({ ...ports, store });
  for (const user of config.users) await organizationUsers.addMissing(user);
  await addTokens(path, config.tokens, { store, tokens: new TokenStore({ ...ports, store, secrets }) });
}

async function addTokens(
  path: string,
  given: readonly ConfigToken[],
  { store, tokens }: { store: Store; tokens: TokenStore },
): Promise<void> {
  for (const [i, { role, project, ...secrets }] of given.entries()) {
    if (await tokens.wasIssued(secrets.token)) continue;
    const problem = (text: string): StartError => new StartError(`--config: ${path}: tokens.${i}.${text}`);
    if (project !== undefined && (await findSubject(store, 'project', project)) === undefined)
      throw problem(`project: there is no project ${project}`);
    if (secrets.accessKey !== undefined && (await tokens.wasKeyIssued(secrets.accessKey)))
      throw problem('accessKey: another token has it');
    const request = { role, projectId: project ?? null, origin: 'operator', expiresAt: null };
    await tokens.issue(request, secrets).catch(async (error: Error) => {
      if (await tokens.wasIssued(secrets.token)) return;
      throw error instanceof ApiError ? problem(error.message) : error;
    });
  }
}

function read(path: string): z.output<typeof configFile> {
  const given = parseJson(path);
  const parsed = configFile.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new StartError(`--config: ${path}: ${problemsOf(parsed.error.issues, given, 'field')}`);
}

function parseJson(path: string): unknown {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    throw new StartError(`--config: cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new StartError(`--config: ${path} is not JSON: ${(error as Error).message}`, { cause: error });
  }
}
