// Index files in another folder than the node's data: their folder in the data folder becomes a link to it, so that opening, listing and
// removing index files needs one path only.
import { mkdirSync, readlinkSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { placePrefix } from '../index.contract.ts';

/** Windows lets every user create junctions, while links to folders need a privilege. Other systems ignore this type. */
const linkType = 'junction';

/**
 * Makes `folder` a link to `place`; null: index files are in `folder` itself, which may be a link that an operator made. Files at the former
 * place are removed: the service builds them again from the documents.
 *
 * @throws Error of the file system if `place` cannot be created
 */
export function placeIndexFiles(folder: string, place: string | null): void {
  const linked = linkedFolder(folder);
  if (place !== null) mkdirSync(place, { recursive: true, mode: 0o700 });
  const isOperatorLink = linked !== null && !isOwn(linked);
  if (linked === place || (place === null && isOperatorLink)) return;
  removeIndexFiles(folder);
  if (place === null) return;
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  symlinkSync(place, folder, linkType);
}

/** Removes the folder, and if it is a link that this node made, its target. A link that an operator made may have a target with other files. */
export function removeIndexFiles(folder: string): void {
  const linked = linkedFolder(folder);
  if (linked === null || isOwn(linked)) rmSync(linked ?? folder, { recursive: true, force: true });
  if (linked !== null) unlinkSync(folder);
}

/** Whether only this service's files are in the folder, by its name: `basename` removes the separator at the end of junctions' paths on Windows. */
const isOwn = (path: string): boolean => basename(path).startsWith(placePrefix);

/** The folder to which this one is a link; null if it is not a link, or missing. */
function linkedFolder(folder: string): string | null {
  try {
    return readlinkSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A folder that is no link; Windows has another code for it.
    if (code === 'EINVAL' || code === 'ENOENT' || code === 'UNKNOWN') return null;
    throw error;
  }
}
