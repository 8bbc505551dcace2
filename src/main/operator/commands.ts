// The operator's commands: `divan cloud token|user|cloud <verb>`. They open the database themselves, so the cloud need not run.
import { resolve } from 'node:path';
import type { z } from 'zod';
import { nearest } from '#base/nearest.ts';
import { isProjectRole, roles } from '#cloud/access/caller.ts';
import { findSubject } from '#cloud/access/subjects.ts';
import { TokenStore } from '#cloud/access/tokens.store.ts';
import { ApiError } from '#cloud/answers/api-error.ts';
import { CloudsService, newCloud } from '#cloud/clouds/clouds.service.ts';
import {
  newOrganizationUser,
  OrganizationUsersService,
} from '#cloud/organization-users/organization-users.service.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { cloudOptions } from '../cloud-options.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import {
  choice,
  describeOptions,
  kinds,
  type OptionKind,
  type OptionSpecs,
  type OptionValues,
  parseOptions,
  UsageError,
} from '../options.ts';
import { StartError } from '../start-error.ts';
import { type CloudStorage, cloudExists, openStorage, requireKeyOfServer } from './cloud-storage.ts';

const dayMs = 86_400_000;
const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, d: dayMs, w: 7 * dayMs };

const duration: OptionKind<number> = {
  placeholder: '90d',
  parse(text) {
    const [, count, unit] = /^(\d{1,5})([hdw])$/.exec(text) ?? [];
    if (Number(count) > 0) return Number(count) * (unitMs[unit as string] as number);
    throw new UsageError(`"${text}" is not a time such as 12h, 90d or 2w`);
  },
};

const storageOptions = {
  'data-dir': cloudOptions['data-dir'],
  database: cloudOptions.database,
  'key-file': cloudOptions['key-file'],
} as const;
const json = { kind: kinds.flag, default: false, doc: 'print JSON' } as const;
const required = { required: true } as const;

const tokenOptions = {
  ...storageOptions,
  role: { kind: choice(...roles), doc: 'what the token may do', ...required },
  project: { kind: kinds.text, doc: 'id of the project that a project role is for' },
  expires: { kind: duration, doc: 'for how long it is valid (default: until it is revoked)' },
  json,
} as const;
const cloudAddOptions = {
  ...storageOptions,
  name: { kind: kinds.text, doc: 'name of the cloud', ...required },
  provider: { kind: choice('aws', 'azure', 'gcp'), doc: 'provider', ...required },
  region: { kind: kinds.text, doc: 'region of the provider', ...required },
  cidr: { kind: kinds.text, doc: 'network of its clusters: 10.0.0.0/16', ...required },
  json,
} as const;
const listOptions = { ...storageOptions, json } as const;

/** Checks the options and positional arguments, before a cloud is created for the work. */
type Prepare<S extends OptionSpecs> = (options: OptionValues<S>, positionals: readonly string[]) => Work;
type Work = (storage: CloudStorage) => Promise<Answer>;

/** The output as text and as JSON. */
interface Answer {
  readonly value: unknown;
  readonly lines: readonly string[];
}

interface OperatorCommand {
  /** Words of the command and its positional arguments: `token revoke ID`. */
  readonly usage: string;
  readonly doc: string;
  readonly options: OptionSpecs;
  readonly prepare: Prepare<OptionSpecs>;
  /** The command adds something, so it may create the cloud. */
  readonly creates: boolean;
}

const command = <const S extends OptionSpecs>(
  usage: string,
  doc: string,
  options: S,
  prepare: Prepare<S>,
): OperatorCommand => ({
  usage,
  doc,
  options,
  prepare: prepare as unknown as Prepare<OptionSpecs>,
  creates: /^\w+ (create|add)\b/.test(usage),
});

const ports = { clock: realClock, random: realRandom };
const tokensOf = ({ store, secrets }: CloudStorage) => new TokenStore({ ...ports, store, secrets });

export const operatorCommands: readonly OperatorCommand[] = [
  command('token create', 'creates a token; its secret is printed only once', tokenOptions, (options) => {
    const { role, project, expires } = options;
    if (isProjectRole(role) && project === undefined)
      throw new UsageError(`--project is missing: the role ${role} is for one project, give its id`);
    if (!isProjectRole(role) && project !== undefined)
      throw new UsageError(
        `--project: the role ${role} is for all projects; leave --project out, or give --role projectOwner or projectViewer`,
      );
    return async (storage) => {
      if (project !== undefined) await requireProject(storage, project);
      await requireKeyOfServer(storage, options);
      const expiresAt = expires === undefined ? null : realClock.wallMs() + expires;
      const issued = await tokensOf(storage).issue({
        role,
        projectId: project ?? null,
        origin: 'operator',
        expiresAt,
      });
      const { id, token, accessKey, secretKey } = issued;
      return {
        value: { id, token, accessKey, secretKey },
        lines: [
          `id          ${id}`,
          `token       ${token}`,
          `access key  ${accessKey}`,
          `secret key  ${secretKey}`,
        ],
      };
    };
  }),
  command('token list', 'lists tokens without their secrets', listOptions, () => async (storage) => {
    const rows = (await tokensOf(storage).list()).map((row) => ({
      id: row.id,
      role: row.role,
      projectId: row.project_id,
      origin: row.origin,
      createdAt: dateOrNull(row.created_at),
      expiresAt: dateOrNull(row.expires_at),
      revokedAt: dateOrNull(row.revoked_at),
      lastUsedAt: dateOrNull(row.last_used_at),
    }));
    const state = (row: (typeof rows)[number]) =>
      row.revokedAt !== null
        ? `revoked ${row.revokedAt}`
        : row.expiresAt === null
          ? 'valid'
          : `${Date.parse(row.expiresAt) <= realClock.wallMs() ? 'expired' : 'until'} ${row.expiresAt}`;
    return {
      value: rows,
      lines: rows.map(
        (row) =>
          `${row.id}  ${row.role}  ${row.projectId ?? '-'}  ${state(row)}  used ${row.lastUsedAt ?? 'never'}`,
      ),
    };
  }),
  command(
    'token revoke ID',
    'makes a token invalid at once',
    listOptions,
    (_options, [id]) =>
      async (storage) => {
        if ((await tokensOf(storage).revoke({ id: id as string })) === 0)
          throw new CommandError(`there is no valid token ${id}`, ExitStatus.missing);
        return { value: { id }, lines: [`${id} is revoked`] };
      },
  ),
  command(
    'user add NAME EMAIL',
    'adds a user of the organization',
    listOptions,
    (_options, [name, email]) => {
      const user = valid(newOrganizationUser, { name, email }, (field) => field.toUpperCase());
      return async ({ store }) => {
        const row = await new OrganizationUsersService({ ...ports, store }).add(user);
        return { value: { id: row.id }, lines: [row.id] };
      };
    },
  ),
  command('user list', 'lists the users of the organization', listOptions, () => async (storage) => {
    const rows = await new OrganizationUsersService({ ...ports, store: storage.store }).list();
    return {
      value: rows.map(({ id, name, email }) => ({ id, name, email })),
      lines: rows.map(({ id, name, email }) => `${id}  ${email}  ${name}`),
    };
  }),
  command(
    'user remove ID',
    'removes a user, by id or email address',
    listOptions,
    (_options, [which]) =>
      async (storage) => {
        await new OrganizationUsersService({ ...ports, store: storage.store }).remove(which as string);
        return { value: {}, lines: [`${which} is removed`] };
      },
  ),
  command(
    'cloud add',
    'adds a cloud in which v2 clusters can be created',
    cloudAddOptions,
    ({ name, provider, region, cidr }) => {
      const cloud = valid(newCloud, { name, provider, region, cidr }, (field) => `--${field}`);
      return async ({ store }) => {
        const row = await new CloudsService({ ...ports, store }).add(cloud);
        return { value: { id: row.id }, lines: [row.id] };
      };
    },
  ),
  command('cloud list', 'lists clouds', listOptions, () => async (storage) => {
    const rows = await new CloudsService({ ...ports, store: storage.store }).list();
    return {
      value: rows.map(({ id, name, provider, region, cidr, status }) => ({
        id,
        name,
        provider,
        region,
        cidr,
        status,
      })),
      lines: rows.map(
        (row) => `${row.id}  ${row.name}  ${row.provider}  ${row.region}  ${row.cidr}  ${row.status}`,
      ),
    };
  }),
];

export async function runOperatorCommand(args: readonly string[]): Promise<string> {
  const found = commandOf(args);
  if (found === undefined) {
    const words = args.slice(0, 2).filter((word) => !word.startsWith('-'));
    throw new UsageError(unknownCommand(words.join(' ')));
  }
  const { positionals, rest } = split(found, args);
  const options = parseOptions(found.options, rest, process.env) as Record<string, unknown> &
    OptionValues<typeof listOptions>;
  const work = found.prepare(options as OptionValues<OptionSpecs>, positionals);
  const isNew = !cloudExists(options);
  const folder = resolve(options['data-dir']);
  // A project is named: a new cloud has none.
  if (isNew && (!found.creates || options['project'] !== undefined))
    throw new StartError(`--data-dir: there is no cloud in ${folder}`);
  const storage = await openStorage(options, silentLog);
  if (isNew) process.stderr.write(`divan: created a new cloud in ${folder}\n`);
  try {
    const { value, lines } = await work(storage);
    return options.json ? `${JSON.stringify(value)}\n` : lines.map((line) => `${line}\n`).join('');
  } catch (error) {
    if (error instanceof ApiError)
      throw new CommandError(
        error.message,
        error.errorType === 'NotFound' ? ExitStatus.missing : ExitStatus.failure,
      );
    throw error;
  } finally {
    await storage.store.destroy();
  }
}

/** Help of one command or of all; null when no command begins with the words. */
export function operatorHelp(args: readonly string[]): string | null {
  const found = commandOf(args);
  if (found !== undefined)
    return `divan cloud ${found.usage}: ${found.doc}\n\n${describeOptions(found.options)}\n`;
  return operatorCommands.some(({ usage }) => wordsOf(usage)[0] === args[0]) ? overview() : null;
}

export function overview(): string {
  const rows = operatorCommands.map(({ usage, doc }) => `  divan cloud ${usage.padEnd(20)} ${doc}`);
  return `Commands for the cloud of a data folder, whether it runs or not:\n\n${rows.join('\n')}\n`;
}

function unknownCommand(words: string): string {
  const near = nearest(
    words,
    operatorCommands.map(({ usage }) => wordsOf(usage).join(' ')),
  );
  const suggestion = near === null ? overview().trimEnd() : `Did you mean "divan cloud ${near}"?`;
  return `there is no command "cloud ${words}". ${suggestion}`;
}

const commandOf = (args: readonly string[]): OperatorCommand | undefined =>
  operatorCommands.find(({ usage }) => wordsOf(usage).every((word, i) => args[i] === word));

const wordsOf = (usage: string): string[] => usage.split(' ').filter((word) => word === word.toLowerCase());

function split(
  { usage }: OperatorCommand,
  args: readonly string[],
): { positionals: string[]; rest: string[] } {
  const words = usage.split(' ');
  const positionals = args.slice(wordsOf(usage).length, words.length);
  const missing = words
    .slice(wordsOf(usage).length)
    .find((_word, i) => positionals[i] === undefined || positionals[i]?.startsWith('--'));
  if (missing !== undefined) throw new UsageError(`${missing} is missing; the form is divan cloud ${usage}`);
  return { positionals, rest: args.slice(words.length) };
}

/** `nameOf`: the name of a field on the command line. */
function valid<S extends z.ZodType>(
  schema: S,
  value: unknown,
  nameOf: (field: string) => string,
): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new UsageError(
    parsed.error.issues.map(({ path, message }) => `${nameOf(path.join('.'))}: ${message}`).join('; '),
  );
}

async function requireProject({ store }: CloudStorage, id: string): Promise<void> {
  if ((await findSubject(store, 'project', id)) === undefined)
    throw new CommandError(`--project: there is no project ${id}`, ExitStatus.missing);
}

const dateOrNull = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
