// The jobs of the service that read and write archives, as plain data: they run in its thread.
import type { ExaminedKey, ExaminedVersion } from '../inspect/examine.ts';
import type { NodeAccess } from '../node/backup-node.ts';
import type { RestoreRequest, RestoreResult } from '../restore/run-restore.adapter.ts';
import type { RepositoryInfo } from './repository-info.ts';

export interface BackupJob {
  readonly kind: 'backup';
  readonly folder: string;
  /** Empty: all. */
  readonly buckets: readonly string[];
  readonly isFull: boolean;
  readonly withIndexes: boolean;
  readonly node: NodeAccess;
}

export interface RestoreJob {
  readonly kind: 'restore';
  readonly request: RestoreRequest;
  readonly node: NodeAccess;
}

/** Which buckets of which cluster a restore would write to. */
export interface RestoreTargetsJob {
  readonly kind: 'restoreTargets';
  readonly request: RestoreRequest;
  readonly node: NodeAccess;
}

/** Merges the backups that began at `fromMs` or later, and before `endMs`. */
export interface MergeJob {
  readonly kind: 'merge';
  readonly folder: string;
  readonly fromMs: number;
  readonly endMs: number;
}

export interface RemoveBackupJob {
  readonly kind: 'removeBackup';
  readonly folder: string;
  readonly backup: string;
}

/** Deletes the repository with all its backups. */
export interface RemoveRepositoryJob {
  readonly kind: 'removeRepository';
  readonly folder: string;
}

export interface InfoJob {
  readonly kind: 'info';
  readonly folder: string;
}

/** Whether the newest backup has its manifest and files. */
export interface CheckJob {
  readonly kind: 'check';
  readonly folder: string;
}

export interface ExamineJob {
  readonly kind: 'examine';
  readonly folder: string;
  readonly key: ExaminedKey;
}

export type Job =
  | BackupJob
  | RestoreJob
  | RestoreTargetsJob
  | MergeJob
  | RemoveBackupJob
  | RemoveRepositoryJob
  | InfoJob
  | CheckJob
  | ExamineJob;

/** What was captured or restored of a bucket. */
export interface BucketFigures {
  readonly name: string;
  readonly documents: number;
  readonly deletions: number;
  readonly bytes: number;
}

export interface JobResults {
  backup: {
    readonly backup: string;
    readonly buckets: readonly BucketFigures[];
    readonly notes: readonly string[];
    /** Bytes of all backups of the repository. */
    readonly size: number;
  };
  restore: RestoreResult;
  restoreTargets: { readonly cluster: string; readonly buckets: readonly string[] };
  /** Null: there were not two backups to merge. `merged`: the backups that the merge replaced; `size`: bytes of all backups then. */
  merge: { readonly backup: string; readonly merged: readonly string[]; readonly size: number } | null;
  removeBackup: null;
  removeRepository: null;
  info: RepositoryInfo;
  check: null;
  examine: readonly ExaminedVersion[];
}

export type JobResult<J extends Job> = JobResults[J['kind']];

/** How far a job is: in documents, or for a merge in vbuckets. */
export interface JobProgress {
  readonly bucket: string;
  readonly done: number;
  /** Null: unknown. */
  readonly expected: number | null;
}

/** Another process, such as a command, uses the repository. */
export class RepositoryInUseError extends Error {
  override name = 'RepositoryInUseError';
}

export interface JobRunner {
  /** @throws Error with the reason, RepositoryInUseError if it may work later; `signal` ends the job soon. */
  run<J extends Job>(
    job: J,
    signal: AbortSignal,
    progress?: (state: JobProgress) => void,
  ): Promise<JobResult<J>>;
}
