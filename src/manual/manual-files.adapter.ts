// Reads the files of the manual from the folder that the product is installed in.
import { readFile } from 'node:fs/promises';
import { packageRoot } from '#ports/code-place.ts';
import { imageFile } from './contents.ts';

/** `file` is one of the contents, from the root of the project. */
export const readManualFile = (file: string): Promise<string> => readFile(new URL(file, packageRoot), 'utf8');

/** `name` is below `docs/images/`. Null: there is no such picture. */
export async function readManualImage(name: string): Promise<Buffer | null> {
  const file = `docs/images/${name}`;
  if (!imageFile.test(file)) return null;
  try {
    return await readFile(new URL(file, packageRoot));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
