// The environment of runs of many short processes, which the tests and the smoke run of the benchmarks are: a shared cache of compiled code, no
// repeated search for changed sources, and temporary folders in memory.
import { readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';

/** Sets variables of this process, which the processes that it starts get too. What the caller has set stays. */
export async function shareEnvironment(): Promise<void> {
  // All processes, nodes and clouds under test too, share the cache of compiled code that `npm ci` fills.
  process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/divan');
  await noteUnchangedCode();
  process.env['TMPDIR'] ??= memoryFolder() ?? tmpdir();
}

/** If the built code is up to date, sets the variable that makes nodes under test run it without checking again. They miss changes of the sources during the tests. */
async function noteUnchangedCode(): Promise<void> {
  const { codeFolder, unchangedVariable } = (await import(`${resolve('bin')}/code-folder.js`)) as {
    codeFolder(): string;
    unchangedVariable: string;
  };
  if (codeFolder() === 'built/node') process.env[unchangedVariable] = `${resolve('.')}/`;
}

/**
 * Temporary folders in memory, where there is much of it: nodes under test sync their files by the thousand. Tests end processes, not the
 * power supply, so that a sync to memory proves as much. Set TMPDIR to use a disk.
 */
function memoryFolder(): string | null {
  const folder = '/dev/shm';
  try {
    const { bavail, bsize } = statfsSync(folder);
    const isUsable =
      bavail * bsize >= 8 * 2 ** 30 &&
      !/^\S+ \/dev\/shm \S+ \S*noexec/m.test(readFileSync('/proc/mounts', 'utf8'));
    return isUsable ? folder : null;
  } catch {
    return null;
  }
}
