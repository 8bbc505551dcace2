// A restore that was begun and is not complete, in a file of the repository: which one it is, and the buckets that it has not flushed yet.
// A resumed restore flushes these buckets, and no bucket that already has restored documents.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeWhole } from '../archive/archive-file.adapter.ts';
import { BackupError } from '../format/backup-error.ts';
import { jsonField, type Shape, ShapeError } from '../format/shape.ts';

/** What a resumed restore has in common with the interrupted one. */
export interface RecordedRestore {
  /** The name of the backup. */
  readonly backup: string;
  /** The id of the backup: another backup may get the same name once this one is removed. */
  readonly id: string;
  /** The rules of `--map`, as given. */
  readonly map: readonly string[];
  /** The uuid of the target: it may be reached by several addresses. */
  readonly cluster: string;
}

interface StoredRestore extends RecordedRestore {
  /** Buckets that are still to be flushed. */
  readonly pending: readonly string[];
}

const listMax = 100_000;
const anyText = jsonField.text(/^/);
const texts = jsonField.list(listMax, anyText);
const stored: Shape = jsonField.object({
  backup: anyText,
  id: anyText,
  map: texts,
  cluster: anyText,
  pending: texts,
});
const fileName = /^restore-[0-9a-f]{16}\.json$/;
/** The most restores that one error names. */
const namedMax = 3;

export class RestoreRecord {
  private readonly folder: string;
  private readonly path: string;
  private readonly restore: RecordedRestore;

  constructor(folder: string, restore: RecordedRestore) {
    const { id, map, cluster } = restore;
    const name = createHash('sha256').update(JSON.stringify(['record', id, map, cluster]));
    this.folder = folder;
    this.path = join(folder, `restore-${name.digest('hex').slice(0, 16)}.json`);
    this.restore = restore;
  }

  /** @throws BackupError for a damaged file, or unless this restore was interrupted; the error names restores that were */
  checkResumable(): void {
    if (existsSync(this.path)) {
      this.pending();
      return;
    }
    const others = this.others().map(describe);
    const nothing = 'nothing to resume; repeat the command without --resume';
    if (others.length === 0) throw new BackupError(nothing);
    const named = others.slice(0, namedMax).join('; ');
    const more = others.length > namedMax ? ` and ${others.length - namedMax} others` : '';
    throw new BackupError(
      `${nothing}, or name the restore that was interrupted. This one is of ${describe(this.restore)}; interrupted: ${named}${more}`,
    );
  }

  /** @throws BackupError for a damaged file */
  pending(): readonly string[] {
    if (!existsSync(this.path)) return [];
    const read = readStored(this.path);
    if (read !== null) return read.pending;
    throw new BackupError(`${this.path} is damaged: remove it, and repeat the command without --resume`);
  }

  /** False where the folder cannot be written: the restore continues, but cannot be resumed. */
  write(pending: readonly string[]): boolean {
    try {
      writeWhole(this.path, `${JSON.stringify({ ...this.restore, pending })}\n`);
      return true;
    } catch {
      return false;
    }
  }

  /** Removes the record of a complete restore, unless it names buckets that this restore left out. */
  remove(): void {
    const pending = existsSync(this.path) ? (readStored(this.path)?.pending ?? []) : [];
    if (pending.length === 0) rmSync(this.path, { force: true });
  }

  private others(): RecordedRestore[] {
    const names = readdirSync(this.folder).filter((name) => fileName.test(name));
    return names.map((name) => readStored(join(this.folder, name))).filter((one) => one !== null);
  }
}

/** Null for another file, such as the progress of a bucket. */
function readStored(path: string): StoredRestore | null {
  try {
    const json = readJson(path);
    stored(json, '');
    return json as StoredRestore;
  } catch (error) {
    if (error instanceof BackupError || error instanceof ShapeError) return null;
    throw error;
  }
}

function describe({ backup, map, cluster }: RecordedRestore): string {
  const rules = map.map((rule) => ` --map ${rule}`).join('');
  return `--backup ${backup}${rules} into cluster ${cluster}`;
}
