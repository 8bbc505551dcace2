// A throw-away node (`divan/testing`): its parent names the folder to delete when the process ends, also after the parent was killed.
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, resolve } from 'node:path';
import { throwAwayPrefix } from '#base/throw-away.ts';

/** The folder to delete, which a message from the parent process names; null unless it is directly within the folder of temporary files. */
export function throwAwayFolder(message: unknown, temporary = tmpdir()): string | null {
  const { throwAway } = (message ?? {}) as { throwAway?: unknown };
  if (typeof throwAway !== 'string') return null;
  const isOurs =
    basename(throwAway).startsWith(throwAwayPrefix) && resolve(dirname(throwAway)) === resolve(temporary);
  return isOurs ? throwAway : null;
}

/** Deletes the folder at the end of this process if the parent asks for it. */
export function deleteThrowAwayFolderAtExit(): void {
  process.on('message', (message) => {
    const folder = throwAwayFolder(message);
    if (folder !== null) process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  });
}
