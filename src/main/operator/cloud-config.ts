// The file of `--config`: clouds, users and tokens that there are to be. What is there already is left as it is, so that a
// cloud can be started with the same file again and again.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { roles } from '#cloud/access/caller.ts';
import { TokenStore } from '#cloud/access/tokens.store.ts';
import { CloudsService, newCloud } from '#cloud/clouds/clouds.service.ts';
import { MembersService, newMember } from '#cloud/members/members.service.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { StartError } from '../start-error.ts';
import type { CloudPlace } from './cloud-place.ts';

const secretMin = 32;
const secret = z.string().min(secretMin, `must have at least ${secretMin} characters`).max(256);

const configFile = z.strictObject({
  clouds: z.array(newCloud).default([]),
  users: z.array(newMember).default([]),
  tokens: z
    .array(
      z.strictObject({
        role: z.enum(roles),
        project: z.guid().optional(),
        token: secret,
        accessKey: z.string().min(8).max(128).optional(),
        secretKey: secret.optional(),
      }),
    )
    .default([]),
});

const ports = { clock: realClock, random: realRandom };

export async function applyConfig(path: string, { store, secrets }: CloudPlace): Promise<void> {
  const config = read(path);
  const clouds = new CloudsService({ ...ports, store });
  const named = new Set((await clouds.list()).map(({ name }) => name));
  for (const cloud of config.clouds) if (!named.has(cloud.name)) await clouds.add(cloud);
  const members = new MembersService({ ...ports, store });
  const known = new Set((await members.list()).map(({ email }) => email));
  for (const member of config.users) if (!known.has(member.email)) await members.add(member);
  const tokens = new TokenStore({ ...ports, store, secrets });
  for (const { role, project, ...given } of config.tokens) {
    if (await tokens.isKnown(given.token)) continue;
    await tokens.issue({ role, projectId: project ?? null, origin: 'operator', expiresAt: null }, given);
  }
}

function read(path: string): z.output<typeof configFile> {
  const parsed = configFile.safeParse(parseJson(path));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path: at, message }) => `${at.join('.')}: ${message}`);
  throw new StartError(`--config: ${path}: ${problems.join('; ')}`);
}

function parseJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new StartError(`--config: ${path}: ${(error as Error).message}`, { cause: error });
  }
}
