// The buckets that a restore with `replaces` has not flushed yet, in a file of the repository. A restore that was killed flushes them when
// it is resumed, and none that has restored documents.
import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeWhole } from '../archive/archive-file.adapter.ts';
import { ArchiveError } from '../format/archive-error.ts';

/** Restores of one backup into one target by the same names. */
export interface FlushIdentity {
  readonly backup: string;
  readonly map: readonly string[];
  readonly host: string;
  readonly port: number;
}

export class FlushRecord {
  private readonly path: string;

  constructor(folder: string, { backup, map, host, port }: FlushIdentity) {
    const name = createHash('sha256').update(JSON.stringify(['flushes', backup, map, host, port]));
    this.path = join(folder, `restore-${name.digest('hex').slice(0, 16)}.json`);
  }

  /** @throws ArchiveError for a damaged file */
  pending(): string[] {
    if (!existsSync(this.path)) return [];
    try {
      const { pending } = readJson(this.path) as { pending?: unknown };
      if (Array.isArray(pending) && pending.every((name) => typeof name === 'string')) return pending;
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
    }
    throw new ArchiveError(`${this.path} is damaged: remove it, and repeat the command without --resume`);
  }

  /** False where the folder cannot be written: the restore continues, but its flushes cannot be resumed. */
  write(pending: readonly string[]): boolean {
    try {
      if (pending.length > 0) writeWhole(this.path, `${JSON.stringify({ pending })}\n`);
      else rmSync(this.path, { force: true });
      return true;
    } catch {
      return false;
    }
  }
}
