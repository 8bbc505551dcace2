// The options of `divan backup` and `divan restore`.
import { nodeConnection } from './connection-options.ts';
import { kinds, type OptionValues } from './options.ts';

const node = nodeConnection('user with the role data_backup, or more');

const json = { kind: kinds.flag, default: false, doc: 'print one JSON object instead of text' } as const;

export const backupOptions = {
  ...node,
  bucket: { kind: kinds.text, repeat: true, doc: 'bucket to back up; without it all' },
  full: {
    kind: kinds.flag,
    default: false,
    doc: 'everything, instead of what changed since the newest backup of the folder',
  },
  purge: {
    kind: kinds.flag,
    default: false,
    doc: 'remove an interrupted backup instead of completing it',
  },
  json,
} as const;

export const restoreOptions = {
  ...node,
  backup: { kind: kinds.text, doc: 'name of the backup; without it the newest' },
  bucket: { kind: kinds.text, repeat: true, doc: 'bucket of the backup; without it all' },
  map: {
    kind: kinds.text,
    repeat: true,
    doc: 'other names: a=b for a bucket, a.s=b.s for a scope, a.s.c=b.s.c for a collection',
  },
  replace: { kind: kinds.flag, default: false, doc: 'flush the buckets first' },
  force: {
    kind: kinds.flag,
    default: false,
    doc: 'also replace documents that are newer than those of the backup',
  },
  resume: { kind: kinds.flag, default: false, doc: 'go on where an interrupted restore ended' },
  'create-buckets': { kind: kinds.flag, default: true, doc: 'create buckets that are missing' },
  indexes: { kind: kinds.flag, default: true, doc: 'create indexes that are missing' },
  json,
} as const;

/** Of the commands that read archives only. */
export const archiveOptions = {
  backup: { kind: kinds.text, doc: 'name of the backup; without it the newest' },
  bucket: { kind: kinds.text, repeat: true, doc: 'bucket of the backup; without it all' },
  json,
} as const;

export const examineOptions = {
  bucket: { kind: kinds.text, doc: 'bucket of the document', required: true },
  key: { kind: kinds.text, doc: 'its key', required: true },
  scope: { kind: kinds.text, default: '_default', doc: 'its scope' },
  collection: { kind: kinds.text, default: '_default', doc: 'its collection' },
  json,
} as const;

export type BackupOptions = OptionValues<typeof backupOptions>;
export type RestoreOptions = OptionValues<typeof restoreOptions>;
export type ArchiveOptions = OptionValues<typeof archiveOptions>;
export type ExamineOptions = OptionValues<typeof examineOptions>;
