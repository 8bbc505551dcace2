// Runs the `divan` command and kills it at one of its system calls, with strace.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endAfterTests } from './left-running.ts';
import { launcher } from './node-process.ts';

/** Resolves with false if the command ended before that call. `program`: another one than the command. */
export async function killedAtCall(
  calls: string,
  number: number,
  args: readonly string[],
  environment: Record<string, string> = {},
  program = launcher,
): Promise<boolean> {
  const inject = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`];
  const kill = ['-e', `inject=${calls}:signal=KILL:when=${number}`];
  const child = spawn('strace', [...inject, ...kill, process.execPath, program, ...args], {
    env: { ...process.env, ...environment },
    stdio: 'ignore',
  });
  endAfterTests(child);
  const [status, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (status === 0) return false;
  assert.equal(signal ?? status, 'SIGKILL', `${args.join(' ')} ended otherwise`);
  return true;
}
