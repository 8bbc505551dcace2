// `divan backup list|info|verify|merge|remove|examine|export FOLDER`: what works on an archive alone, without a node.
import { once } from 'node:events';
import { findBackup, namedBackup, Repository } from '#backup/archive/repository.adapter.ts';
import { MissingBucketError } from '#backup/format/backup-error.ts';
import type { BackupManifest } from '#backup/format/manifest.ts';
import { type ExaminedVersion, examine } from '#backup/inspect/examine.ts';
import { exportLines } from '#backup/inspect/export.ts';
import { type BackupSummary, summaries, summaryOf } from '#backup/inspect/summaries.ts';
import { type VerifiedBucket, verifyBackup } from '#backup/inspect/verify.ts';
import { versionJson } from '#backup/inspect/version-json.ts';
import { intervalOfDays } from '#backup/merge/days-interval.ts';
import { mergeInterval } from '#backup/merge/merge-interval.ts';
import { removeBackups } from '#backup/merge/remove-backups.adapter.ts';
import { type MergeContext, type MergeResult, runMerge } from '#backup/merge/run-merge.adapter.ts';
import { vbucketCount } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import {
  type ArchiveOptions,
  archiveOptions,
  type ExamineOptions,
  examineOptions,
  type ListOptions,
  listOptions,
  type MergeOptions,
  mergeOptions,
  type RemoveOptions,
  removeOptions,
} from '../backup-options.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import { interruptible } from '../interruptible.ts';
import { describeOptions, type OptionSpecs, type OptionValues, UsageError } from '../options.ts';
import { splitWords } from '../split-words.ts';
import { columns, counted, ProgressLine, sizeText } from '../terminal.ts';
import { oneFolder } from './command-line.ts';
import { backupPassphrase } from './passphrase.ts';

interface Verb {
  readonly doc: string;
  readonly options: OptionSpecs;
  readonly run: Run<OptionSpecs>;
}

/** Returns what is printed. */
type Run<S extends OptionSpecs> = (folder: string, options: OptionValues<S>) => Promise<string> | string;

const verb = <const S extends OptionSpecs>(doc: string, options: S, run: Run<S>): Verb => ({
  doc,
  options,
  run: run as unknown as Run<OptionSpecs>,
});

export const archiveVerbs: Readonly<Record<string, Verb>> = {
  list: verb('the backups of a folder', listOptions, list),
  info: verb('buckets, sizes and counts of one backup', archiveOptions, info),
  verify: verb('reads all of one backup and compares it with its hashes', archiveOptions, verify),
  merge: verb('merges several backups into the last of them and removes the others', mergeOptions, merge),
  remove: verb('removes backups that no other one continues', removeOptions, remove),
  examine: verb('the versions of one document in all backups', examineOptions, examineKey),
  export: verb('the documents of a backup as JSON lines, on standard output', archiveOptions, exportAll),
};

/** The help of the verb that the words begin with; null if they begin with none. */
export function archiveHelp([name = '']: readonly string[]): string | null {
  if (!Object.hasOwn(archiveVerbs, name)) return null;
  const { doc, options } = archiveVerbs[name] as Verb;
  return `divan backup ${name} FOLDER: ${doc}\n\n${describeOptions(options)}\n`;
}

export function archiveOverview(): string {
  const rows = Object.entries(archiveVerbs).map(
    ([name, { doc }]) => `  ${`divan backup ${name} FOLDER`.padEnd(29)} ${doc}`,
  );
  return `Commands that need no node:\n\n${rows.join('\n')}\n\nOptions of a verb: divan backup <verb> --help\n`;
}

/** Returns what is printed. */
export async function runArchiveCommand(name: string, args: readonly string[]): Promise<string> {
  const { options: specs, run } = archiveVerbs[name] as Verb;
  const { words, options } = splitWords(args, specs);
  return await run(oneFolder(`divan backup ${name} FOLDER`, words), options);
}

function list(folder: string, options: ListOptions): string {
  const { repository } = findArchive(folder, options);
  const backups = summaries(repository);
  if (options.json) return JSON.stringify(backups);
  if (backups.length === 0) return 'no backups';
  return columns([['backup', 'type', 'documents', 'deletions', 'size'], ...backups.map(listRow)]);
}

function listRow({ name, type, buckets }: BackupSummary): string[] {
  const sum = (field: 'documents' | 'deletions' | 'bytes'): number =>
    buckets.reduce((all, bucket) => all + bucket[field], 0);
  return [name, type, String(sum('documents')), String(sum('deletions')), sizeText(sum('bytes'))];
}

interface Chosen {
  readonly repository: Repository;
  /** The newest first. */
  readonly chain: readonly BackupManifest[];
  readonly manifest: BackupManifest;
}

/** Reads several files under a shared lock: a merge meanwhile would remove some of them. */
async function sharing<T>({ repository }: Found, read: () => T | Promise<T>): Promise<T> {
  const lock = Repository.share(repository.path);
  try {
    return await read();
  } finally {
    lock.release();
  }
}

type Found = ReturnType<typeof findBackup>;

const findArchive = (folder: string, options: Pick<ArchiveOptions, 'passphrase-file'>): Found =>
  findBackup(folder, backupPassphrase(options['passphrase-file']));

/** The one backup that the command is about. @throws BackupError if it lacks a bucket that the command names */
function chosenBackup({ repository, name }: Found, options: ArchiveOptions): Chosen {
  const chain = repository.chain(repository.chosen(namedBackup(name, options.backup)));
  const manifest = chain[0] as BackupManifest;
  const missing = options.bucket.find((one) => !manifest.buckets.some((bucket) => bucket.name === one));
  if (missing !== undefined)
    throw new MissingBucketError(`--bucket: backup ${manifest.name} has no bucket "${missing}"`);
  return { repository, chain, manifest };
}

const isWanted = ({ bucket }: ArchiveOptions, name: string): boolean =>
  bucket.length === 0 || bucket.includes(name);

function info(folder: string, options: ArchiveOptions): string {
  const { chain, manifest } = chosenBackup(findArchive(folder, options), options);
  const summary = summaryOf(manifest);
  const buckets = summary.buckets.filter(({ name }) => isWanted(options, name));
  const continues = chain.slice(1).map(({ name }) => name);
  if (options.json) return JSON.stringify({ ...summary, buckets, continues, source: manifest.source });
  const header = ['bucket', 'documents', 'deletions', 'collections', 'indexes', 'size'];
  const rows = buckets.map((bucket) => [
    ...[bucket.name, bucket.documents, bucket.deletions, bucket.collections, bucket.indexes].map(String),
    sizeText(bucket.bytes),
  ]);
  return [
    `${summary.type} backup ${summary.name}, from ${summary.startedAt} to ${summary.endedAt}`,
    ...(continues.length === 0 ? [] : [`continues ${continues.join(', ')}`]),
    columns([header, ...rows]),
  ].join('\n');
}

async function verify(folder: string, options: ArchiveOptions): Promise<string> {
  const archive = findArchive(folder, options);
  const backups = await interruptible((signal) =>
    sharing(archive, () => verifyChain(chosenBackup(archive, options), options, signal)),
  );
  if (options.json) return JSON.stringify(backups);
  return backups
    .flatMap(({ backup, buckets }) => buckets.map((bucket) => verifiedText(backup, bucket)))
    .join('\n');
}

interface VerifiedBackup {
  readonly backup: string;
  readonly buckets: readonly VerifiedBucket[];
}

/** Verifies the backup, and those that it continues: a restore reads them, too. */
async function verifyChain(
  { repository, chain }: Chosen,
  options: ArchiveOptions,
  signal: AbortSignal,
): Promise<VerifiedBackup[]> {
  const verification = { isWanted: (name: string) => isWanted(options, name), clock: realClock, signal };
  const verified: VerifiedBackup[] = [];
  for (const manifest of chain)
    verified.push({ backup: manifest.name, buckets: await verifyBackup(repository, manifest, verification) });
  return verified;
}

async function merge(folder: string, options: MergeOptions): Promise<string> {
  const line = new ProgressLine();
  try {
    const result = await interruptible((signal) =>
      mergeChosen(folder, options, {
        clock: realClock,
        random: realRandom,
        signal,
        progress: ({ bucket, vbuckets }) => line.show(`${bucket}: ${vbuckets} of ${vbucketCount} vbuckets`),
      }),
    );
    line.end();
    if (result === null)
      return options.json ? 'null' : 'nothing to merge: there are fewer than two backups of these days';
    const { manifest, backups, bucketsLeftOut } = result;
    if (options.json) return JSON.stringify({ ...summaryOf(manifest), merged: backups, bucketsLeftOut });
    const gone = bucketsLeftOut.map((name) => `${name}: left out; the last backup does not have this bucket`);
    return [...gone, `${backups.length} backups merged into ${manifest.name}`].join('\n');
  } finally {
    line.end();
  }
}

function mergeChosen(
  folder: string,
  options: MergeOptions,
  context: MergeContext,
): Promise<MergeResult | null> {
  const { start, end, 'days-ago': days } = options;
  const passphrase = backupPassphrase(options['passphrase-file']);
  if (days === undefined) return runMerge({ folder, start, end, passphrase }, context);
  if (start !== undefined || end !== undefined)
    throw new UsageError('--days-ago and --start or --end are given; they mean different backups');
  return mergeInterval({ folder, passphrase, ...intervalOfDays(days, context.clock.wallMs()) }, context);
}

function remove(folder: string, options: RemoveOptions): string {
  if (options.backup.length === 0) throw new UsageError('--backup is missing: give --backup NAME');
  const passphrase = backupPassphrase(options['passphrase-file']);
  const removed = removeBackups(folder, options.backup, passphrase);
  return options.json ? JSON.stringify(removed) : `removed ${removed.join(', ')}`;
}

function verifiedText(backup: string, bucket: VerifiedBucket): string {
  const { name, documents, deletions, bytes, collections } = bucket;
  const parts = Object.entries(collections).map(([path, count]) => `\n    ${path}: ${count}`);
  const counts = `${counted(documents, 'document')}, ${counted(deletions, 'deletion')}`;
  return `${backup} ${name}: ${counts}, ${sizeText(bytes)}: intact${parts.join('')}`;
}

async function examineKey(folder: string, options: ExamineOptions): Promise<string> {
  const archive = findArchive(folder, options);
  const versions = await sharing(archive, () => [...examine(archive.repository, options)]);
  if (options.json) {
    if (versions.length === 0) process.exitCode = ExitStatus.missing;
    return `[${versions.map(versionJson).join()}]`;
  }
  if (versions.length === 0) throw new CommandError('no backup has this document', ExitStatus.missing);
  return versions.map(versionText).join('\n');
}

function versionText({ backup, deleted, value, metadata }: ExaminedVersion): string {
  const { cas, revseqno, expiry } = metadata;
  const what = deleted ? 'deleted' : value;
  return `${backup}  cas ${cas}, revision ${revseqno}${expiry === 0 ? '' : `, expiry ${expiry}`}: ${what}`;
}

async function exportAll(folder: string, options: ArchiveOptions): Promise<string> {
  const archive = findArchive(folder, options);
  await sharing(archive, () => printDocuments(chosenBackup(archive, options), options));
  return '';
}

async function printDocuments(
  { repository, chain, manifest }: Chosen,
  options: ArchiveOptions,
): Promise<void> {
  for (const record of manifest.buckets.filter(({ name }) => isWanted(options, name)))
    for (const text of exportLines(repository, chain, record))
      if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}
