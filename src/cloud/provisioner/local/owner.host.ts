// Whose a node's folder is. Only what bears the mark of this cloud may ever be taken for a leftover of it.
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Owner {
  readonly home: string;
  readonly clusterId: string;
}

const file = 'owner.json';

/** Whose all nodes in a folder of nodes are; null when there are none, or of several. */
export function homeOfAll(nodesFolder: string): string | null {
  if (!existsSync(nodesFolder)) return null;
  const homes = new Set(readdirSync(nodesFolder).map((id) => readOwner(join(nodesFolder, id))?.home));
  homes.delete(undefined);
  const [home] = homes;
  return homes.size === 1 ? (home as string) : null;
}

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
