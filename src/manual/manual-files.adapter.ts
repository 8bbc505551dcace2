// Reads the files of the manual from the folder that the product is installed in.
import { readFile } from 'node:fs/promises';
import { packageRoot } from '#ports/code-place.ts';

/** `file` is one of the contents, from the root of the project. */
export const readManualFile = (file: string): Promise<string> => readFile(new URL(file, packageRoot), 'utf8');
