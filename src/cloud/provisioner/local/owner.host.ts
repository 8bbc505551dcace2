// Whose a node's folder is. Only what bears the mark of this cloud may ever be taken for a leftover of it.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Owner {
  readonly home: string;
  readonly clusterId: string;
}

const file = 'owner.json';

export function writeOwner(folder: string, owner: Owner): void {
  const path = join(folder, file);
  writeFileSync(`${path}.tmp`, JSON.stringify(owner), { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}

export function readOwner(folder: string): Owner | null {
  try {
    return JSON.parse(readFileSync(join(folder, file), 'utf8')) as Owner;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
