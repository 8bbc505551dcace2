// `merge.json` in a repository while a merge runs. After a crash the next task that writes to the repository completes the merge if the new
// manifest was written, else removes the files of the merge.
import { lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { syncPath } from '#ports/sync-path.ts';
import { BackupError } from '../format/backup-error.ts';
import { backupNamePattern } from '../format/manifest.ts';
import { jsonField, type Shape, ShapeError } from '../format/shape.ts';
import { readJson, writeWhole } from './archive-file.adapter.ts';
import type { Repository } from './repository.adapter.ts';

export interface MergeIntent {
  /** The backup that stays. */
  readonly end: string;
  /** `merged.id` of its manifest once the merge is complete. */
  readonly id: string;
  /** The backups that are removed once the merge is complete. */
  readonly replaced: readonly string[];
}

const fileName = 'merge.json';
const shape: Shape = jsonField.object({
  end: jsonField.text(backupNamePattern),
  id: jsonField.text(/^[0-9a-f]{32}$/),
  replaced: jsonField.list(100_000, jsonField.text(backupNamePattern)),
});

export function writeIntent({ path }: Repository, intent: MergeIntent): void {
  writeWhole(join(path, fileName), `${JSON.stringify(intent)}\n`);
}

/** Completes or undoes a merge that was interrupted. Call with the lock of the repository. @throws BackupError */
export function finishMerge(repository: Repository): void {
  const path = join(repository.path, fileName);
  // Not `existsSync`, which follows links.
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  const { end, id, replaced } = readIntent(path);
  const complete = repository.complete();
  if (complete.includes(end)) {
    const isMerged = repository.manifest(end).merged?.id === id;
    // The newest first: after a crash in between, each backup that remains still has the one that it continues.
    if (isMerged) for (const name of replaced.toReversed()) if (name !== end) repository.remove(name);
    repository.removeLeftovers(end);
  }
  rmSync(path);
  syncPath(repository.path);
}

function readIntent(path: string): MergeIntent {
  try {
    const json = readJson(path);
    shape(json, '');
    return json as MergeIntent;
  } catch (error) {
    if (!(error instanceof ShapeError || error instanceof BackupError)) throw error;
    throw new BackupError(`${path} is damaged (${error.message}): check the backups, then remove this file`);
  }
}
