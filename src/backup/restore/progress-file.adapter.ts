// The progress of a restore, in a file of the repository: the target has acknowledged all vbuckets below `next`.
import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeWhole } from '../archive/archive-file.adapter.ts';

/** A restore is resumed only if all of these are equal. */
export interface RestoreIdentity {
  readonly backup: string;
  readonly bucket: string;
  /** The target's buckets by uuid, and their histories: a bucket that lost writes gets them again. */
  readonly targets: readonly string[];
  readonly options: string;
}

export class ProgressFile {
  private readonly path: string;
  private readonly identity: string;

  constructor(folder: string, identity: RestoreIdentity) {
    const { backup, bucket, options } = identity;
    this.identity = createHash('sha256').update(JSON.stringify(identity)).digest('hex');
    const name = createHash('sha256').update(JSON.stringify([backup, bucket, options]));
    this.path = join(folder, `restore-${name.digest('hex').slice(0, 16)}.json`);
  }

  /** The first vbucket that is not restored. */
  read(): number {
    if (!existsSync(this.path)) return 0;
    try {
      const { identity, next } = readJson(this.path) as Record<string, unknown>;
      return identity === this.identity && Number.isSafeInteger(next) ? Math.max(0, next as number) : 0;
    } catch {
      return 0;
    }
  }

  /** False where the folder cannot be written: the restore continues, but cannot be resumed. */
  write(next: number): boolean {
    try {
      writeWhole(this.path, `${JSON.stringify({ identity: this.identity, next })}\n`);
      return true;
    } catch {
      return false;
    }
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }
}
