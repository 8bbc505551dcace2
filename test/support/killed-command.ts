// Runs the `divan` command and kills it at one of its system calls, with a preloaded library: a tracer would stop the command at each call.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
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
