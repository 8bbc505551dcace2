// The built files of the console, read when a browser asks for them. `npm run build:console` makes them, also a compressed form of each.
import { readFile } from 'node:fs/promises';
import { packageRoot } from '#ports/code-place.ts';

export interface ConsoleFile {
  readonly bytes: Buffer;
  readonly isCompressed: boolean;
}

const folder = new URL('built/console/', packageRoot);

/** `name` must be a plain file name or one in `assets/`. Null if there is no such file. */
export async function readConsoleFile(name: string, options: { gzip: boolean }): Promise<ConsoleFile | null> {
  const compressed = options.gzip ? await readIfPresent(`${name}.gz`) : null;
  if (compressed) return { bytes: compressed, isCompressed: true };
  const bytes = await readIfPresent(name);
  return bytes && { bytes, isCompressed: false };
}

async function readIfPresent(name: string): Promise<Buffer | null> {
  try {
    return await readFile(new URL(name, folder));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
