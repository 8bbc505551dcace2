// Writes the reference pages from the declarations in the code. `--check` fails when a page is stale.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Access, RouteDefinition } from '#contract/route.ts';
import { commands } from '#wire/commands/index.ts';
import type { Command } from '#wire/define-command.ts';
import { constantFields, settingsCatalog } from '../src/cluster/settings/catalog.ts';
import { type Effect, missingFeatures, type Setting } from '../src/cluster/settings/setting.ts';
import { archiveVerbs } from '../src/main/backup/archive-commands.ts';
import { backupOptions, restoreOptions } from '../src/main/backup-options.ts';
import { cloudOptions } from '../src/main/cloud-options.ts';
import { nodeConnection } from '../src/main/connection-options.ts';
import { nodeOptions } from '../src/main/node-options.ts';
import { operatorCommands } from '../src/main/operator/commands.ts';
import { defaultText, environmentName, type OptionSpecs } from '../src/main/options.ts';
import { queryOptions } from '../src/main/query-options.ts';
import { remoteCommands } from '../src/main/remote-commands.ts';
import { resetPasswordOptions } from '../src/main/reset-password-options.ts';
import { upOptions } from '../src/main/up-options.ts';
import { compatibilityPage } from './docs-compatibility.ts';
import { errorsPage } from './docs-errors.ts';
import { functionsPage } from './docs-functions.ts';
import { hostedApi } from './docs-hosted-api.ts';
import { performancePage, performancePlots } from './docs-performance.ts';

/** The contracts of a node; the API of the cloud has a page of its own. */
const nodeContracts = 'src/{auth,backup,cluster,http,metrics}/**/*.contract.ts';

const generated = '<!-- Written by `npm run docs` from the declarations in the code; change those. -->\n\n';

const pages: Record<string, () => string | Promise<string>> = {
  'docs/reference/command-line.md': commandLine,
  'docs/reference/rest-api.md': restApi,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/hosted-api.md': hostedApi,
  'docs/reference/data-port.md': dataPort,
  'docs/reference/settings.md': settingsPage,
  'docs/reference/functions.md': functionsPage,
  'docs/reference/compatibility.md': compatibilityPage,
  'docs/reference/performance.md': performancePage,
  ...performancePlots(),
};

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

async function commandLine(): Promise<string> {
  const lines = [
    '# Command line\n',
    '`npx divan <command>` in a checkout after `npm ci`. A flag overrides its environment variable, which overrides the default.\n',
    '- `divan up`: a node, provisioned on first start; without `--password` one is generated, printed once and stored encrypted in the data folder.',
    '  It also starts the cloud in a child process with the folder `cloud` in that data folder; both stop together.',
    '- `divan node`: a node; provisioned on first start when `--username` and `--password` are given.\n',
    ...optionTable(nodeOptions),
    '\nAdditional options of `divan up`:\n',
    ...optionTable(Object.fromEntries(Object.entries(upOptions).filter(([name]) => !(name in nodeOptions)))),
    '',
    '`divan reset-password`: sets name and password of the administrator of a stopped node.',
    '',
    ...optionTable(resetPasswordOptions),
    '\n`divan query [STATEMENT]`: runs SQL++ statements of the command line, of `--file`, of a pipe or of a prompt ([guide](../guides/query.md)).\n',
    ...optionTable(queryOptions),
    '\n`divan backup [FOLDER]`: saves the documents of a running node in a folder, by default `./divan-backup` ([guide](../guides/backup.md)).\n',
    ...optionTable(backupOptions),
    '\n`divan restore FOLDER`: writes a backup into a running node.\n',
    ...optionTable(restoreOptions),
    '\nCommands that work on archives, without a node; `FOLDER` is that of all backups, or of one:\n',
    '| command | what it does | options |',
    '|---|---|---|',
    ...Object.entries(archiveVerbs).map(archiveRow),
    '\nCommands on a running node, over its REST API and its data port. `--help` after each says more about its options. All take the address',
    'and the account of `divan backup`, with the password from `DIVAN_PASSWORD` or from a file: every user of a machine can read command lines.',
    'Most take `--json`, for programs. With an address such as `--url https://127.0.0.1:18091` all ports that they use are those with TLS; `--ca FILE`',
    'names the authority of the cluster, whose certificate `GET /pools/default/certificate` answers with.\n',
    '| command | what it does | options |',
    '|---|---|---|',
    ...(await remoteRows()),
    '\n`divan cloud`: the hosted management API, which provisions and runs clusters of such nodes ([guide](../guides/cloud.md)).\n',
    ...optionTable(cloudOptions),
    '\nTokens, users and clouds are managed by commands on the same database, whether the cloud runs or not; `--help` after each lists its',
    'options. All take `--data-dir`, `--database` and `--key-file` of their cloud, and `--json` for programs.\n',
    '| command | what it does | options |',
    '|---|---|---|',
    ...operatorCommands.map(operatorRow),
    '\nA repeatable flag takes a comma-separated list in the environment. Port 0 takes any free port. When everything is ready,',
    'the process prints a summary and, with `--ready-file`, writes this JSON (mode 0600) with the parts that were started:\n',
    '```json',
    '{"node":{"rest":"http://127.0.0.1:8091","restTls":"https://127.0.0.1:18091","kv":"127.0.0.1:11210","kvTls":"127.0.0.1:11207",' +
      '"capi":"http://127.0.0.1:8092","capiTls":"https://127.0.0.1:18092"},' +
      '"cloud":{"api":"http://127.0.0.1:8080","token":"…","accessKey":"…","secretKey":"…"},"username":"Administrator","password":"…"}',
    '```\n',
    'SIGTERM and SIGINT stop cleanly, a second one at once. `divan --version` prints the version, `divan completion bash|zsh|fish` the completion of a shell. Exit status of all commands:\n',
    '| status | meaning |',
    '|---|---|',
    '| 0 | done; for a node, a clean stop |',
    '| 1 | something cannot start, has failed since, or was refused |',
    '| 2 | a wrong command line |',
    '| 3 | a part of the work was refused and the rest is done |',
    '| 4 | what the command names does not exist: a bucket, collection, user, document, metric, sample, project, token or cluster |',
    '| 130 | stopped by Ctrl-C or SIGTERM |',
  ];
  return `${lines.join('\n')}\n`;
}

const optionTable = (options: OptionSpecs): string[] => [
  '| flag | environment | default | meaning |',
  '|---|---|---|---|',
  ...Object.entries(options).map(([name, spec]) => {
    // A flag that is on by default is switched off by `=false`.
    const isOnByDefault = spec.kind.bare !== undefined && spec.default === true;
    const value = isOnByDefault ? 'true' : defaultText(spec);
    const fallback = value === '' ? '' : `\`${value}\``;
    const usage = `--${name} ${spec.kind.placeholder.replaceAll('|', '\\|')}`.trimEnd();
    const note = spec.required ? ' (required)' : spec.repeat ? ' (repeatable)' : '';
    return `| \`${usage}\`${note} | \`${environmentName(name)}\` | ${fallback} | ${spec.doc} |`;
  }),
];

async function remoteRows(): Promise<string[]> {
  const common = [...Object.keys(nodeConnection('')), 'json'];
  const rows = Object.entries(remoteCommands).map(async ([command, { load }]) =>
    (await load()).map(({ usage, doc, options }) => {
      const flags = Object.keys(options).filter((name) => !common.includes(name));
      return `| \`${`divan ${command} ${usage}`.trimEnd()}\` | ${doc} | ${flags.map((name) => `\`--${name}\``).join(', ')} |`;
    }),
  );
  return (await Promise.all(rows)).flat();
}

function archiveRow([verb, { doc, options }]: [string, (typeof archiveVerbs)[string]]): string {
  const flags = Object.keys(options).map((name) => `\`--${name}\``);
  return `| \`divan backup ${verb} FOLDER\` | ${doc} | ${flags.join(', ')} |`;
}

function operatorRow({ usage, doc, options }: (typeof operatorCommands)[number]): string {
  const common = ['data-dir', 'database', 'key-file', 'json'];
  const own = Object.entries(options)
    .filter(([name]) => !common.includes(name))
    .map(([name, { kind, required }]) => {
      const flag = `--${name} ${kind.placeholder}`.replaceAll('|', '\\|');
      return required ? `\`${flag}\`` : `\`[${flag}]\``;
    });
  return `| \`divan cloud ${usage}\` | ${doc} | ${own.join(' ')} |`;
}

async function settingsPage(): Promise<string> {
  const routes = new Map((await allRoutes()).map((route) => [route.id, route]));
  const callOf = (id: string) => {
    const { method, path } = routes.get(id) as RouteDefinition;
    return `\`${method} ${path}\``;
  };
  const lines = [
    '# Settings\n',
    'Every parameter that changes a setting, as a form field of the named call. Effect: **effective**; **fixed**, where any other value than the',
    'current one is refused; **waits**: validated, stored and shown, without effect, since this version lacks the feature;',
    'or **kept**: stored and shown without effect.\n',
    'A change is live, or restarts the bucket (operations wait or are refused as temporary failures), or holds from the next start of a bucket',
    'or the node on, or is possible only at creation or before provisioning. Unless its row says otherwise, a parameter that an edit',
    'leaves out keeps its value. What the process itself takes (folders, ports, log level) is in [Command line](command-line.md) and needs',
    'a restart of the node.\n',
  ];
  for (const group of settingsCatalog) {
    lines.push(`## ${group.title}\n`, `${group.routes.map(callOf).join(', ')}\n`);
    lines.push('| parameter | default | accepted | a change is | what it does |', '|---|---|---|---|---|');
    lines.push(...group.settings.map(settingRow), '');
  }
  lines.push('## Constants in answers\n');
  lines.push(
    'All other figures in answers are measured. These fields are constants for clients that require them:\n',
  );
  lines.push('| field | in | value | meaning |', '|---|---|---|---|');
  lines.push(
    ...constantFields.map((row) => `| ${row.field} | ${row.where} | ${row.value} | ${row.meaning} |`),
  );
  return `${lines.join('\n')}\n`;
}

function settingRow(row: Setting): string {
  const does = [effectText(row.effect), ...(row.note === undefined ? [] : [row.note])].join('; ');
  return `| \`${row.name}\` | ${row.default} | ${row.range} | ${row.change} | ${does} |`;
}

function effectText(effect: Effect): string {
  return effect in missingFeatures
    ? `waits for ${missingFeatures[effect as keyof typeof missingFeatures]}`
    : effect;
}

async function allRoutes(): Promise<RouteDefinition[]> {
  const modules = globSync(nodeContracts)
    .sort()
    .map((file) => import(`../${file}`) as Promise<Record<string, unknown>>);
  return (await Promise.all(modules)).flatMap(routesOf);
}

/** Titles of features that differ from their names. */
const titles: Readonly<Record<string, string>> = {
  backup: 'Backup service',
  capi: 'CAPI',
  openapi: 'OpenAPI',
  range: 'Metrics over time',
  ui: 'Web console',
};

async function restApi(): Promise<string> {
  const lines = [
    '# Administration REST API\n',
    'Every route with who may call it once the node is provisioned. Each node describes parameters and answers: `/openapi.json`, and',
    '`/docs/api` to read. Parameters that set something are in [Settings](settings.md), all refusals in [Errors](errors.md).\n',
  ];
  for (const file of globSync(nodeContracts).sort()) {
    const routes = routesOf((await import(`../${file}`)) as Record<string, unknown>);
    if (routes.length === 0) continue;
    const feature = (file.split('/').at(-1) as string).replace('.contract.ts', '');
    lines.push(
      `## ${titles[feature] ?? `${feature.charAt(0).toUpperCase()}${feature.slice(1).replaceAll('-', ' ')}`}\n`,
    );
    lines.push('| route | access | what it does |', '|---|---|---|');
    for (const route of routes)
      lines.push(`| \`${route.method} ${route.path}\` | ${accessText(route)} | ${route.doc} |`);
    lines.push('');
  }
  return lines.join('\n');
}

/** Exported routes, alone or in lists. */
const routesOf = (module: Record<string, unknown>): RouteDefinition[] =>
  Object.values(module).flat().filter(isRoute);

const isRoute = (value: unknown): value is RouteDefinition =>
  typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'access' in value;

function accessText(route: RouteDefinition): string {
  const open = route.openBeforeProvisioning ? '; open before provisioning' : '';
  return `${describeAccess(route.access)}${open}`;
}

function describeAccess(access: Access): string {
  switch (access.kind) {
    case 'anyone':
      return 'anyone';
    case 'authenticated':
      return 'any identity';
    case 'permission':
      return `\`${access.permission}\``;
    case 'roles':
      return `roles ${access.roles.map((role) => `\`${role}\``).join(', ')}`;
  }
}

function dataPort(): string {
  const lines = [
    '# Data port\n',
    'The binary protocol of the data service, over TCP and TLS. SASL: `SCRAM-SHA512`, `SCRAM-SHA256`, `SCRAM-SHA1`, `PLAIN`. Frames of at most',
    '30 MiB, documents of at most 20 MiB and 1 MiB of system attributes, keys of at most 250 bytes (246 in a named collection). An opcode that',
    'is not listed is answered "unknown command".\n',
    '| opcode | command | session | privileges | frames | what it does |',
    '|---|---|---|---|---|---|',
    ...commands.toSorted((a, b) => a.opcode - b.opcode).map(commandRow),
  ];
  return `${lines.join('\n')}\n`;
}

function commandRow(command: Command): string {
  const { opcode, name, session, privilege, doc } = command;
  const needs = [...(privilege?.all ?? []), ...(privilege?.any ? [privilege.any.join(' or ')] : [])].join(
    ', ',
  );
  const frames = [command.durability && 'durability', command.preserveTtl && 'preserve TTL']
    .filter(Boolean)
    .join(', ');
  const hex = opcode.toString(16).padStart(2, '0');
  return `| 0x${hex} | ${name} | ${session} | ${needs} | ${frames} | ${doc} |`;
}

/**
 * GET routes that declare no answer: the API document shows declared answers, and a test compares what a node answers with them. Routes of
 * the view ports (CAPI) are in no document.
 */
async function undescribed(): Promise<RouteDefinition[]> {
  const files = globSync('src/cluster/**/*.contract.ts', { exclude: ['src/cluster/capi/**'] });
  const modules = await Promise.all(
    files.map((file) => import(`../${file}`) as Promise<Record<string, unknown>>),
  );
  const routes = modules.flatMap(routesOf);
  return routes.filter(({ method, answer }) => method === 'GET' && !answer);
}

const check = process.argv.includes('--check');
let stale = 0;
for (const { id, path } of await undescribed()) {
  console.error(
    `route ${id} (GET ${path}) declares no answer: add \`answer: { json: shape… }\` to its declaration`,
  );
  stale++;
}
for (const [path, write] of Object.entries(pages)) {
  const text = generated + (await write());
  if (check && read(path) !== text) {
    console.error(`${path} is stale: run npm run docs`);
    stale++;
  } else if (!check) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
process.exit(stale === 0 ? 0 : 1);
