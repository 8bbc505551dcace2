// The progress of a restore, in a file of the repository: the target has acknowledged all vbuckets below `next`. See restore-progress.ts.
import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { vbucketCount } from '#client/document-key.ts';
import { readJson, writeWhole } from '../archive/archive-file.adapter.ts';
import { jsonField, type Shape } from '../format/shape.ts';

/** A restore is resumed only if all of these are equal. */
export interface RestoreIdentity {
  readonly backup: string;
  readonly bucket: string;
  /** The uuids of the target's buckets. */
  readonly targets: readonly string[];
  readonly options: string;
}

/** The uuid of a vbucket's history, a decimal number, and a seqno. */
export type ReachedSeqno = readonly [uuid: string, seqno: number];

export interface RecordedProgress {
  readonly next: number;
  /** By uuid of a target bucket: where its vbuckets from 0 on were. */
  readonly reached: Readonly<Record<string, readonly ReachedSeqno[]>>;
}

const { count, list, object, pair, record, text } = jsonField;
const stored: Shape = object({
  identity: text(/^[\da-f]{64}$/),
  next: count,
  reached: record(list(vbucketCount, pair(text(/^\d{1,20}$/), count))),
});
const nothing: RecordedProgress = { next: 0, reached: {} };

export class ProgressFile {
  private readonly path: string;
  private readonly identity: string;

  constructor(folder: string, identity: RestoreIdentity) {
    const { backup, bucket, options } = identity;
    this.identity = createHash('sha256').update(JSON.stringify(identity)).digest('hex');
    const name = createHash('sha256').update(JSON.stringify([backup, bucket, options]));
    this.path = join(folder, `restore-${name.digest('hex').slice(0, 16)}.json`);
  }

  read(): RecordedProgress {
    if (!existsSync(this.path)) return nothing;
    try {
      const json = readJson(this.path);
      stored(json, '');
      const { identity, next, reached } = json as RecordedProgress & { identity: string };
      return identity === this.identity ? { next, reached } : nothing;
    } catch {
      return nothing;
    }
  }

  /** False where the folder cannot be written: the restore continues, but cannot be resumed. */
  write(progress: RecordedProgress): boolean {
    try {
      writeWhole(this.path, `${JSON.stringify({ identity: this.identity, ...progress })}\n`);
      return true;
    } catch {
      return false;
    }
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }
}
