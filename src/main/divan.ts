// Entry of the `divan` command: runs the sub-command, prints help, and reports a wrong command line in one line.
import { MissingBucketError } from '#backup/format/backup-error.ts';
import { nearest } from '#base/nearest.ts';
import { backupOptions, restoreOptions } from './backup-options.ts';
import { cloudOptions } from './cloud-options.ts';
import type { CompletedCommand } from './completion/completion-tree.ts';
import type { Shell } from './completion/shell-scripts.ts';
import { CommandError, ExitStatus } from './exit-status.ts';
import { nodeOptions } from './node-options.ts';
import { describeOptions, type OptionSpecs, parseOptions, UsageError } from './options.ts';
import { queryOptions } from './query-options.ts';
import { release } from './release.ts';
import { type RemoteCommand, remoteCommands } from './remote-commands.ts';
import { resetPasswordOptions } from './reset-password-options.ts';
import { Shutdown } from './signals.ts';
import { endWithOutput } from './standard-output.ts';
import { deleteThrowAwayFolderAtExit } from './throw-away.ts';
import { upEnvironment, upOptions } from './up-options.ts';

interface Command {
  readonly doc: string;
  run(args: readonly string[]): Promise<void>;
  help(args: readonly string[]): Promise<string> | string;
}

interface OptionCommand {
  readonly doc: string;
  readonly options: OptionSpecs;
  run(args: readonly string[]): Promise<void>;
}

const optionCommands: Readonly<Record<string, OptionCommand>> = {
  up: {
    doc: 'a provisioned node and the cloud beside it, ready to use; generates and prints a password on first start',
    options: upOptions,
    run: up,
  },
  node: {
    doc: 'a node; provisioned on first start when --username and --password are given',
    options: nodeOptions,
    run: node,
  },
  cloud: {
    doc: 'the hosted management API, which provisions and runs clusters of nodes; its tokens, users and clouds',
    options: cloudOptions,
    run: cloud,
  },
  query: {
    doc: 'runs SQL++ statements: divan query [STATEMENT], or those of --file, of a prompt or of a pipe',
    options: queryOptions,
    run: query,
  },
  backup: {
    doc: 'backs up a running node: divan backup [FOLDER]; shows and changes backups: list, info, verify, merge, remove, examine, export',
    options: backupOptions,
    run: backup,
  },
  restore: {
    doc: 'writes a backup into a running node: divan restore FOLDER',
    options: restoreOptions,
    run: restore,
  },
  'reset-password': {
    doc: 'sets the name and password of the administrator of a node that is stopped',
    options: resetPasswordOptions,
    run: resetPassword,
  },
};

const commands: ReadonlyMap<string, Command> = new Map([
  ...Object.entries(optionCommands).map(
    ([name, command]) =>
      [name, { ...command, help: (args: readonly string[]) => helpFor(name, command, args) }] as const,
  ),
  ...Object.entries(remoteCommands).map(([name, command]) => [name, onRunningNode(name, command)] as const),
  [
    'completion',
    {
      doc: 'prints the completion of a shell: divan completion bash|zsh|fish',
      run: completion,
      help: () =>
        'divan completion bash|zsh|fish: prints the script that completes command lines in this shell\n',
    },
  ],
]);

async function main([name, ...args]: string[]): Promise<void> {
  try {
    if (name === 'help') return await main([...args, '--help']);
    if (name === undefined || name === '--help' || name === '-h') return print(overview());
    if (name === '--version' || name === '-v' || name === 'version') return print(`divan ${release}\n`);
    const command = commands.get(name);
    if (command === undefined) throw new UsageError(unknownCommand(name));
    if (args.includes('--help') || args.includes('-h')) return print(await command.help(args));
    await command.run(args);
  } catch (error) {
    const usage = error instanceof UsageError;
    const hasReason = usage || isExplained(error);
    process.stderr.write(`divan: ${hasReason ? (error as Error).message : (error as Error).stack}\n`);
    if (usage)
      process.stderr.write(`See divan ${name !== undefined && commands.has(name) ? `${name} ` : ''}--help\n`);
    process.exit(usage ? ExitStatus.usage : statusOf(error));
  }
}

/** What an error may have: those of this program whose text gives the reason are marked, those of the system name the failed call. */
interface ExplainedError {
  readonly isExplained: boolean;
  readonly syscall: string;
  readonly code: string;
}

/** Errors of the system or of a database are printed without a stack: their text names the file, the address or the disk. */
function isExplained(error: unknown): boolean {
  const { isExplained: hasReason, syscall, code } = error as Partial<ExplainedError>;
  return hasReason === true || syscall !== undefined || code === 'ERR_SQLITE_ERROR';
}

function statusOf(error: unknown): number {
  if (error instanceof CommandError) return error.status;
  return error instanceof MissingBucketError ? ExitStatus.missing : ExitStatus.failure;
}

function onRunningNode(name: string, { doc, load }: RemoteCommand): Command {
  const verbModule = () => import('./remote/verb.ts');
  return {
    doc,
    run: async (args) => (await verbModule()).runVerb(name, await load(), args),
    help: async (args) =>
      `${(await verbModule()).verbHelp(name, doc, await load(), args)}\n${environmentNote}\n`,
  };
}

async function up(args: readonly string[]): Promise<void> {
  const options = parseOptions(upOptions, args, upEnvironment(args, process.env));
  const shutdown = Shutdown.onSignals();
  const { runUp } = await import('./run-up.ts');
  await runUp(options, shutdown);
}

async function node(args: readonly string[]): Promise<void> {
  const options = parseOptions(nodeOptions, args, process.env);
  const shutdown = Shutdown.onSignals();
  // A node with a channel is a child process of `divan up`, or of a program that uses `divan/testing`: it stops when the parent ends.
  if (process.channel !== undefined) {
    process.on('disconnect', () => shutdown.request());
    deleteThrowAwayFolderAtExit();
  }
  const { runNode } = await import('./run-node.ts');
  await runNode(options, { makePassword: false, shutdown });
}

async function cloud(args: readonly string[]): Promise<void> {
  if (args[0] !== undefined && !args[0].startsWith('-')) {
    const { runOperatorCommand } = await import('./operator/commands.ts');
    return print(await runOperatorCommand(args));
  }
  const options = parseOptions(cloudOptions, args, process.env);
  const shutdown = Shutdown.onSignals();
  const { runCloud } = await import('./run-cloud.ts');
  await runCloud(options, shutdown);
}

async function query(args: readonly string[]): Promise<void> {
  const { runQuery } = await import('./shell/run-query.ts');
  await runQuery(args);
}

async function backup(args: readonly string[]): Promise<void> {
  const { runBackupCommand } = await import('./backup/run-backup-command.ts');
  await runBackupCommand(args);
}

async function restore(args: readonly string[]): Promise<void> {
  const { runRestoreCommand } = await import('./backup/run-restore-command.ts');
  await runRestoreCommand(args);
}

async function resetPassword(args: readonly string[]): Promise<void> {
  const options = parseOptions(resetPasswordOptions, args, process.env);
  const command = await import('./reset-password.ts');
  print(await command.resetPassword(options));
}

const print = (text: string): void => void process.stdout.write(text);

/** Prints the completion script of a shell, made from the declarations of all commands. */
async function completion([shell = '', ...more]: readonly string[]): Promise<void> {
  if (!['bash', 'zsh', 'fish'].includes(shell) || more.length > 0)
    throw new UsageError('give the shell: divan completion bash, zsh or fish');
  const { placesOf } = await import('./completion/completion-tree.ts');
  const { completionScript } = await import('./completion/shell-scripts.ts');
  print(completionScript(shell as Shell, placesOf(await completedCommands())));
}

async function completedCommands(): Promise<CompletedCommand[]> {
  const { archiveVerbs } = await import('./backup/archive-commands.ts');
  const { operatorCommands } = await import('./operator/commands.ts');
  const { nameOf } = await import('./remote/verb.ts');
  const remote = Object.entries(remoteCommands).map(async ([name, { doc, load }]) => [
    { place: name, doc, options: {} },
    ...(await load()).map((verb) => ({
      ...verb,
      place: `${name} ${nameOf(verb)}`.trim(),
      doc: nameOf(verb) === '' ? doc : verb.doc,
    })),
  ]);
  return [
    ...Object.entries(optionCommands).map(([place, { doc, options }]) => ({ place, doc, options })),
    ...Object.entries(archiveVerbs).map(([verb, { doc, options }]) => ({
      place: `backup ${verb}`,
      doc,
      options,
    })),
    ...operatorCommands.map(({ usage, doc, options }) => ({
      place: `cloud ${usage.replace(/ [A-Z].*/, '')}`,
      doc,
      options,
    })),
    ...(await Promise.all(remote)).flat(),
    ...['bash', 'zsh', 'fish'].map((shell) => ({
      place: `completion ${shell}`,
      doc: `for ${shell}`,
      options: {},
    })),
  ];
}

const environmentNote =
  'Each option can be set by an environment variable: DIVAN_ and its name in capitals, with _ in place of -.';

function overview(): string {
  const rows = [...commands].map(([name, { doc }]) => `  divan ${name.padEnd(14)} ${doc}`);
  return `Divan ${release}: a small, fast document database node.\n\n${rows.join('\n')}\n\nOptions of a command: divan <command> --help\n`;
}

async function helpFor(name: string, command: OptionCommand, args: readonly string[]): Promise<string> {
  const verbs = await verbsHelp(name, args);
  if (verbs !== null && verbs.ofVerb !== null) return `${verbs.ofVerb}\n${environmentNote}\n`;
  const more = verbs === null ? '' : `\n${verbs.overview()}`;
  const hasPort = Object.keys(command.options).some((option) => option.endsWith('port'));
  const note = `${environmentNote}${hasPort ? ' Port 0 takes a free port.' : ''}`;
  return `divan ${name}: ${command.doc}\n\n${describeOptions(command.options)}\n\n${note}\n${more}`;
}

/** The help of the verb in the words, and the list of all; null for a command without verbs. */
async function verbsHelp(name: string, args: readonly string[]) {
  if (name === 'cloud') {
    const { operatorHelp, overview: ofAll } = await import('./operator/commands.ts');
    return { ofVerb: operatorHelp(args), overview: ofAll };
  }
  if (name !== 'backup') return null;
  const { archiveHelp, archiveOverview } = await import('./backup/archive-commands.ts');
  return { ofVerb: archiveHelp(args), overview: archiveOverview };
}

function unknownCommand(name: string): string {
  const names = [...commands.keys()];
  const all = `the commands are ${names.join(', ')}`;
  if (name.startsWith('-')) return `"${name}" is given before a command: divan COMMAND ${name} …; ${all}`;
  const near = nearest(name.toLowerCase(), names);
  return `unknown command "${name}"; ${near === null ? all : `did you mean "${near}"?`}`;
}

// Before the command: a node or cloud, which goes on without its output, removes the listener.
process.stdout.on('error', endWithOutput);
await main(process.argv.slice(2));
