// Runs the `divan` command and kills or stops it at its system calls, with a preloaded library: a tracer would stop the command at each call.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { after } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { builtC } from './built-c.ts';
import { endAfterTests } from './left-running.ts';
import { launcher } from './node-process.ts';

const name = 'killing-call.so';
let folder: string | undefined;
after(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

/** Built at the first call. */
function library(): string {
  if (folder !== undefined) return join(folder, name);
  folder = mkdtempSync(join(tmpdir(), 'divan-killing-'));
  return builtC('killing-call.c', join(folder, name), ['-shared', '-fPIC']);
}

/**
 * Resolves with false if the command ended before that call. `calls`: comma-separated names from killing-call.c;
 * `program`: the program to run instead of the command. Needs a C compiler.
 */
export async function killedAtCall(
  calls: string,
  number: number,
  args: readonly string[],
  environment: Record<string, string> = {},
  program = launcher,
): Promise<boolean> {
  const child = spawn(process.execPath, [program, ...args], {
    env: {
      ...process.env,
      ...environment,
      LD_PRELOAD: library(),
      DIVAN_KILL_CALLS: calls,
      DIVAN_KILL_AT: String(number),
    },
    stdio: 'ignore',
  });
  endAfterTests(child);
  const [status, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (status === 0) return false;
  assert.equal(signal ?? status, 'SIGKILL', `${args.join(' ')} ended otherwise`);
  return true;
}

/**
 * Runs the command, and stops it at each of these system calls: what files have then is what they would have if the command was killed there.
 * `stopped` gets the name of the call. Needs a C compiler.
 */
export async function stoppedAtCalls(
  calls: readonly string[],
  args: readonly string[],
  environment: Record<string, string>,
  stopped: (call: string) => void,
): Promise<void> {
  const fd = 3;
  const child = spawn(process.execPath, [launcher, ...args], {
    env: {
      ...process.env,
      ...environment,
      LD_PRELOAD: library(),
      DIVAN_KILL_CALLS: calls.join(),
      DIVAN_STOP_FD: String(fd),
    },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  endAfterTests(child);
  const end = once(child, 'exit');
  for await (const call of createInterface({ input: child.stdio[fd] as Readable })) {
    await allThreadsStopped(child.pid as number);
    stopped(call);
    child.kill('SIGCONT');
  }
  assert.deepEqual(await end, [0, null], args.join(' '));
}

/** The signal stops other threads a little later than the one that sends it. */
async function allThreadsStopped(pid: number): Promise<void> {
  const folder = `/proc/${pid}/task`;
  const isStopped = (task: string): boolean => /\) T /.test(readFileSync(`${folder}/${task}/stat`, 'latin1'));
  while (!readdirSync(folder).every(isStopped)) await pause(1);
}
