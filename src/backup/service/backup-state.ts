// What the backup service stores in the configuration of the cluster: its settings, plans and repositories.
import type { MergedDays } from '../merge/days-interval.ts';

export const periodUnits = ['MINUTES', 'HOURS', 'DAYS', 'WEEKS'] as const;
export const weekdayPeriods = [
  'SUNDAY',
  'MONDAY',
  'TUESDAY',
  'WEDNESDAY',
  'THURSDAY',
  'FRIDAY',
  'SATURDAY',
] as const;
export type Period = (typeof periodUnits)[number] | (typeof weekdayPeriods)[number];
export type PlanTaskType = 'BACKUP' | 'MERGE';

export interface Schedule {
  /** A task runs once in this many periods. */
  readonly frequency: number;
  readonly period: Period;
  /** Hours and minutes of local time: `22:00`. */
  readonly time?: string | undefined;
}

export interface PlanTask {
  readonly name: string;
  readonly type: PlanTaskType;
  readonly isFull: boolean;
  readonly schedule: Schedule;
  /** For a merge: the days whose backups it takes, counted back from today. */
  readonly days: MergedDays | null;
}

export interface Plan {
  readonly name: string;
  readonly description: string;
  /** Null: all. */
  readonly services: readonly string[] | null;
  readonly isPredefined: boolean;
  readonly tasks: readonly PlanTask[];
}

export const repositoryKinds = ['active', 'archived', 'imported'] as const;
export type RepositoryKind = (typeof repositoryKinds)[number];

export interface StoredRepository {
  readonly id: string;
  readonly state: RepositoryKind | 'paused';
  /** Empty for an imported one. */
  readonly plan: string;
  /** Null: all buckets. */
  readonly bucket: { readonly name: string; readonly uuid: string } | null;
  /** The folder of the archive, and the name of the repository in it. */
  readonly archive: string;
  readonly repo: string;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** When each task of the plan is to run next, by the name of the task. */
  readonly nextRuns: Readonly<Record<string, number>>;
}

export interface BackupSettings {
  /** Days. */
  readonly history_rotation_period: number;
  /** MiB. */
  readonly history_rotation_size: number;
}

export interface BackupState {
  readonly settings: BackupSettings;
  /** Plans by name, without the predefined ones. */
  readonly plans: Readonly<Record<string, Plan>>;
  readonly repositories: Readonly<Record<RepositoryKind, Readonly<Record<string, StoredRepository>>>>;
}

export const noBackupState: BackupState = {
  settings: { history_rotation_period: 30, history_rotation_size: 50 },
  plans: {},
  repositories: { active: {}, archived: {}, imported: {} },
};

/** The stored state, as the cluster manager keeps it. */
export interface BackupStateStore {
  readonly value: BackupState;
  /** `next` may throw; then nothing is written. It runs again if another writer was first. */
  change(next: (before: BackupState) => BackupState): Promise<BackupState>;
  onChange(listener: () => void): { stop(): void };
}
