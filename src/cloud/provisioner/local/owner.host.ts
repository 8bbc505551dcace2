// The owner mark of a node's folder. Only folders with the mark of this cloud may be removed as remnants.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivate } from '#ports/private-file.ts';

export interface Owner {
  /** The id of the cloud process that runs the node, from its own data folder. */
  readonly home: string;
  readonly clusterId: string;
}

const file = 'owner.json';

/** The home that the marks of all node folders name; null if there are none, or several homes. */
export function commonHomeOf(nodesFolder: string): string | null {
  if (!existsSync(nodesFolder)) return null;
  const homes = new Set(readdirSync(nodesFolder).map((id) => readOwner(join(nodesFolder, id))?.home));
  homes.delete(undefined);
  const [home] = homes;
  return homes.size === 1 ? (home as string) : null;
}

export function writeOwner(folder: string, owner: Owner): void {
  writePrivate(join(folder, file), JSON.stringify(owner));
}

export function readOwner(folder: string): Owner | null {
  try {
    return JSON.parse(readFileSync(join(folder, file), 'utf8')) as Owner;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
