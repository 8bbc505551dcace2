// Runs the `divan` command: as a process, or in a process that has run others.
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { HostedEnd, HostedRun } from './command-host.ts';
import { endAfterTests } from './left-running.ts';
import { launcher } from './node-process.ts';

export interface CommandEnd {
  status: number | null;
  out: string;
  error: string;
}

type Environment = Record<string, string | undefined>;

export function startCommand(
  args: readonly string[],
  environment: Environment = {},
): { child: ChildProcess; ended: Promise<CommandEnd> } {
  const child = spawn(process.execPath, [launcher, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  endAfterTests(child);
  const printed = { out: '', error: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk));
  child.stderr.on('data', (chunk: Buffer) => (printed.error += chunk));
  const ended = new Promise<CommandEnd>((resolve) =>
    child.on('close', (status) => resolve({ status, ...printed })),
  );
  return { child, ended };
}

/** Commands that ran as processes: `backup`, `bucket create`. */
const seen = new Set<string>();
const idle: CommandHost[] = [];

/** Each command runs as a process of its own the first time in a test file, and later in one that is kept. */
export async function runCommand(
  args: readonly string[],
  environment: Environment = {},
): Promise<CommandEnd> {
  const name = args
    .slice(0, 2)
    .filter((word) => /^[a-z]+$/.test(word))
    .join(' ');
  // Other variables are read by Node or the system when a process starts.
  const isForCommand = Object.keys(environment).every((variable) => variable.startsWith('DIVAN_'));
  if (!seen.has(name) || !isForCommand) {
    seen.add(name);
    return startCommand(args, environment).ended;
  }
  const host = idle.pop() ?? new CommandHost();
  const { isLast, ...end } = await host.run({ args, environment: { ...process.env, ...environment } });
  if (!isLast) idle.push(host);
  return end;
}

class CommandHost {
  private readonly child = fork(fileURLToPath(new URL('command-host.ts', import.meta.url)), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });

  constructor() {
    endAfterTests(this.child);
  }

  async run(run: HostedRun): Promise<HostedEnd> {
    this.child.ref();
    this.child.channel?.ref();
    const { promise, resolve, reject } = Promise.withResolvers<HostedEnd>();
    const failed = (code: number | null) =>
      reject(new Error(`divan ${run.args.join(' ')} ended the process: ${code}`));
    this.child.once('message', resolve).once('exit', failed);
    this.child.send(run);
    try {
      return await promise;
    } finally {
      this.child.off('message', resolve).off('exit', failed);
      this.child.unref();
      this.child.channel?.unref();
    }
  }
}
