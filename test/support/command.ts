// Runs the `divan` command as a process.
import { type ChildProcess, spawn } from 'node:child_process';
import { endAfterTests } from './left-running.ts';
import { launcher } from './node-process.ts';

export interface CommandEnd {
  status: number | null;
  out: string;
  error: string;
}

export function startCommand(
  args: readonly string[],
  environment: Record<string, string | undefined> = {},
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

export const runCommand = (
  args: readonly string[],
  environment: Record<string, string | undefined> = {},
): Promise<CommandEnd> => startCommand(args, environment).ended;
