// Reads the files of the manual from the folder that the product is installed in.
import { readFile } from 'node:fs/promises';

/** The parent of `src`, or of `dist` in the published package. */
const root = new URL('../../', import.meta.url);

/** `file` is one of the contents, from the root of the project. */
export const readManualFile = (file: string): Promise<string> => readFile(new URL(file, root), 'utf8');
