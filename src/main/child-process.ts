// Child processes of `divan up`: the cloud and the other nodes of a cluster. Each stops when its channel to this process closes.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { realClock } from '#ports/clock.ts';
import { packageRoot } from '#ports/code-place.ts';

export const launcher = fileURLToPath(new URL('bin/divan.js', packageRoot));
const stopTimeoutMs = 30_000;

/** The environment of this process without the variables that set its options: they are not meant for a child. */
export const environmentWithoutOptions = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('DIVAN_')));

/** Closes the channel and resolves when the child has ended; kills a child that has not ended after the timeout. */
export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  if (child.connected) child.disconnect();
  const limit = new AbortController();
  const killing = realClock.sleep(stopTimeoutMs, limit.signal).then(
    () => child.kill('SIGKILL'),
    () => false, // the child ended in time
  );
  await ended;
  limit.abort();
  await killing;
}
