// The processes that `divan up` starts beside this one. They stop when their channel to it closes.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { realClock } from '#ports/clock.ts';

export const launcher = fileURLToPath(new URL('../../bin/divan.js', import.meta.url));
const stopMs = 30_000;

/** The environment without the options of this process: a child gets its own. */
export const inheritedEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('DIVAN_')));

/** Resolves when the process has ended; one that takes too long is killed. */
export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  if (child.connected) child.disconnect();
  const enough = new AbortController();
  const late = realClock.sleep(stopMs, enough.signal).then(
    () => child.kill('SIGKILL'),
    () => false, // the child ended in time
  );
  await ended;
  enough.abort();
  await late;
}
