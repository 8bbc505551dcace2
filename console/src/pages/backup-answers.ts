// What the backup service answers, as far as the console shows it.

export type RepositoryState = 'active' | 'archived' | 'imported';

export interface Repository {
  readonly id: string;
  /** `paused` for an active one whose schedule is stopped. */
  readonly state: string;
  readonly plan_name: string;
  readonly bucket?: { readonly name: string };
  readonly archive: string;
  readonly scheduled?: Readonly<Record<string, { readonly name: string; readonly next_run: string }>>;
  readonly health?: { readonly healthy: boolean; readonly health_issue?: string };
  readonly running_one_off?: Readonly<Record<string, BackupTask>>;
  readonly running_tasks?: Readonly<Record<string, BackupTask>>;
}

export type Repositories = Readonly<Record<RepositoryState, Readonly<Record<string, Repository>>>>;

export interface BackupTask {
  readonly task_name: string;
  readonly type: string;
  readonly status: string;
  readonly start: string;
  readonly end: string;
  readonly error?: string;
  readonly node_runs: readonly { readonly progress: number }[];
}

export interface BackedUpBucket {
  readonly name: string;
  readonly items: number;
  readonly tombstones: number;
  readonly scopes: Readonly<Record<string, BackedUpScope>>;
}

interface BackedUpScope {
  /** By id. */
  readonly collections: Readonly<Record<string, { readonly name: string; readonly items?: number }>>;
}

export interface Backup {
  /** The name of the backup, which is the time of its start with `_` for `:`. */
  readonly date: string;
  readonly type: string;
  readonly size: number;
  readonly complete: boolean;
  readonly buckets: readonly BackedUpBucket[];
}

export interface RepositoryBackups {
  readonly size: number;
  readonly backups: readonly Backup[];
}

/** Milliseconds since 1970. */
export const timeOfBackup = ({ date }: Backup): number =>
  Date.parse(date.replace(/Z.*$/, 'Z').replaceAll('_', ':'));

export const isFullBackup = ({ type }: Backup): boolean => type.endsWith('FULL');
