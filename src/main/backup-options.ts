// The options of `divan backup` and `divan restore`.
import { rfc3339Ms } from '#base/rfc3339.ts';
import { nodeConnection } from './connection-options.ts';
import { choice, kinds, type OptionKind, type OptionValues, UsageError } from './options.ts';

const expirySecondsMax = 2 ** 32 - 1;

/** Seconds since 1970, 0: never. */
const expiryTime: OptionKind<number> = {
  placeholder: 'TIME',
  parse(text) {
    if (text === '0') return 0;
    const seconds = Math.floor(rfc3339Ms(text) / 1_000);
    if (seconds > 0 && seconds <= expirySecondsMax) return seconds;
    throw new UsageError(`"${text}" is not 0 or a time of RFC 3339, such as 2030-01-31T12:00:00Z`);
  },
};

const node = nodeConnection('user with the role data_backup, or more');

const json = { kind: kinds.flag, default: false, doc: 'print one JSON object instead of text' } as const;

const passphrase = {
  'passphrase-file': {
    kind: kinds.path,
    doc: 'file with the passphrase of encrypted backups, - for standard input; or set DIVAN_BACKUP_PASSPHRASE',
  },
} as const;

export const backupOptions = {
  ...node,
  ...passphrase,
  bucket: { kind: kinds.text, repeat: true, doc: 'bucket to back up; all by default' },
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
  ...passphrase,
  backup: { kind: kinds.text, doc: 'name of the backup; by default the newest' },
  start: {
    kind: kinds.text,
    doc: 'name of the first backup whose changes are restored; by default everything that the backup has',
  },
  end: { kind: kinds.text, doc: 'another name of --backup, for a command line with --start' },
  bucket: { kind: kinds.text, repeat: true, doc: 'bucket of the backup; all by default' },
  'filter-keys': {
    kind: kinds.text,
    doc: 'regular expression (RE2); only documents with a part of the key that matches are restored',
  },
  'filter-values': {
    kind: kinds.text,
    doc: 'regular expression (RE2); only JSON documents with a part of the text that matches are restored, and no deletions',
  },
  'replace-ttl': {
    kind: choice('none', 'all', 'expired'),
    default: 'none',
    doc: 'documents whose expiry is replaced: none, all, or those that have expired',
  },
  'replace-ttl-with': {
    kind: expiryTime,
    default: 0,
    doc: 'new expiry of the documents that --replace-ttl chooses, such as 2030-01-31T12:00:00Z; 0: never',
  },
  map: {
    kind: kinds.text,
    repeat: true,
    doc: 'other names: a=b for a bucket, a.s=b.s for a scope, a.s.c=b.s.c for a collection',
  },
  replace: { kind: kinds.flag, default: false, doc: 'flush the buckets first' },
  'force-updates': {
    kind: kinds.flag,
    default: false,
    doc: 'also replace documents that are newer than those of the backup',
  },
  resume: { kind: kinds.flag, default: false, doc: 'go on where an interrupted restore ended' },
  'create-buckets': { kind: kinds.flag, default: true, doc: 'create buckets that are missing' },
  indexes: { kind: kinds.flag, default: true, doc: 'create indexes that are missing' },
  json,
} as const;

/** The options of the list of all backups. */
export const listOptions = { ...passphrase, json } as const;

/** The options of the commands that only read archives. */
export const archiveOptions = {
  backup: { kind: kinds.text, doc: 'name of the backup; by default the newest' },
  bucket: { kind: kinds.text, repeat: true, doc: 'bucket of the backup; all by default' },
  ...passphrase,
  json,
} as const;

/** Days before today, or a range of them as plans of the backup service have it. */
const daysAgo: OptionKind<{ newest: number; oldest: number }> = {
  placeholder: 'N-M',
  parse(text) {
    const [, newest, oldest = newest] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
    if (newest === undefined || Number(newest) > Number(oldest))
      throw new UsageError(`"${text}" is not a number of days or a range such as 1-7`);
    return { newest: Number(newest), oldest: Number(oldest) };
  },
};

export const mergeOptions = {
  start: { kind: kinds.text, doc: 'name of the first backup; by default the oldest' },
  end: { kind: kinds.text, doc: 'name of the last backup, which stays; by default the newest' },
  'days-ago': {
    kind: daysAgo,
    doc: 'the backups of these days instead: 0 is today, 1-7 the seven days before, in the local time zone',
  },
  ...passphrase,
  json,
} as const;

export const removeOptions = {
  backup: { kind: kinds.text, repeat: true, doc: 'name of a backup to remove' },
  ...passphrase,
  json,
} as const;

export const examineOptions = {
  bucket: { kind: kinds.text, doc: 'bucket of the document', required: true },
  key: { kind: kinds.text, doc: 'key of the document', required: true },
  scope: { kind: kinds.text, default: '_default', doc: 'scope of the document' },
  collection: { kind: kinds.text, default: '_default', doc: 'collection of the document' },
  ...passphrase,
  json,
} as const;

export type BackupOptions = OptionValues<typeof backupOptions>;
export type RestoreOptions = OptionValues<typeof restoreOptions>;
export type ListOptions = OptionValues<typeof listOptions>;
export type ArchiveOptions = OptionValues<typeof archiveOptions>;
export type MergeOptions = OptionValues<typeof mergeOptions>;
export type RemoveOptions = OptionValues<typeof removeOptions>;
export type ExamineOptions = OptionValues<typeof examineOptions>;
