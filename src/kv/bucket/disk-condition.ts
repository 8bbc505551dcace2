// Whether a bucket's disk takes changes, and what the bucket refuses while it does not.
import { Status } from '#wire/status.ts';
import type { BucketParts } from './bucket-parts.ts';

export class DiskCondition {
  private readonly parts: Pick<BucketParts, 'documents' | 'durableWrites' | 'progress'>;
  /** Why the bucket refuses writes; null when it accepts them. */
  failure: string | null = null;
  /** A commit has failed, and not because the disk was full: nothing more is written until the files are replaced. */
  hasFailed = false;
  failedCommits = 0;

  constructor(parts: Pick<BucketParts, 'documents' | 'durableWrites' | 'progress'>) {
    this.parts = parts;
  }

  /** Refuses writes with a temporary failure until there is space (null); acknowledged changes stay in memory. */
  noteFull(reason: string | null): void {
    if (this.hasFailed) return;
    if (reason !== null) this.failedCommits++;
    this.failure = reason === null ? null : `there is no space on disk: ${reason}`;
    this.parts.documents.writeRefusal = reason === null ? Status.success : Status.temporaryFailure;
  }

  /** Refuses writes: acknowledged changes stay readable, but nothing more is persisted. */
  fail(reason: string): void {
    if (!this.hasFailed) this.failure = reason;
    this.failedCommits++;
    this.hasFailed = true;
    this.parts.documents.writeRefusal = Status.temporaryFailure;
    this.parts.durableWrites.resolveAmbiguous();
    this.parts.progress.failWaits();
  }

  /** The files were replaced by new ones, which take changes. */
  renew(): void {
    this.hasFailed = false;
    this.failure = null;
    this.parts.documents.writeRefusal = Status.success;
  }
}
