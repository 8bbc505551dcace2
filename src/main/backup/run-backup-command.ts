// `divan backup [FOLDER]`: backs up a node; `divan backup list|info|verify|merge|remove|examine|export FOLDER` works on archives.
import { type BackupResult, runBackup } from '#backup/capture/run-backup.adapter.ts';
import { nearest } from '#base/nearest.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { keepYoungGenerationSize } from '#ports/spare-memory.ts';
import { backupOptions } from '../backup-options.ts';
import { interruptible } from '../interruptible.ts';
import { UsageError } from '../options.ts';
import { splitWords } from '../split-words.ts';
import { counted, ProgressLine, print, sizeText } from '../terminal.ts';
import { archivePassphrase, nodeOf, oneFolder } from './command-line.ts';

const folderDefault = './divan-backup';

export async function runBackupCommand(args: readonly string[]): Promise<void> {
  keepYoungGenerationSize();
  const { archiveVerbs, runArchiveCommand } = await import('./archive-commands.ts');
  const verb = args[0];
  if (verb !== undefined && Object.hasOwn(archiveVerbs, verb)) {
    const text = await runArchiveCommand(verb, args.slice(1));
    if (text !== '') print(text);
    return;
  }
  const { words, options } = splitWords(args, backupOptions);
  const folder = folderOf(words, Object.keys(archiveVerbs));
  const line = new ProgressLine();
  const startedMs = realClock.monotonicMs();
  const request = {
    folder,
    buckets: options.bucket,
    isFull: options.full,
    purges: options.purge,
    passphrase: archivePassphrase(options),
  };
  const node = nodeOf(options);
  try {
    const result = await interruptible((signal) =>
      runBackup(request, {
        node,
        clock: realClock,
        random: realRandom,
        signal,
        progress: ({ bucket, documents, expected }) =>
          line.show(`${bucket}: ${documents}${expected === null ? '' : ` of about ${expected}`} documents`),
      }),
    );
    line.end();
    const seconds = (realClock.monotonicMs() - startedMs) / 1_000;
    print(options.json ? JSON.stringify(asJson(result, folder)) : asText(result, folder, seconds));
  } finally {
    line.end();
  }
}

/** Two words may be a mistyped verb and its folder, and the first one a verb that options precede. */
function folderOf(words: readonly string[], verbs: readonly string[]): string {
  const late = verbs.find((verb) => verb === words[0]);
  if (late !== undefined)
    throw new UsageError(
      `the verb comes first: divan backup ${late} FOLDER; a folder of this name is written as ./${late}`,
    );
  const near = words.length === 2 ? nearest(words[0] as string, verbs) : null;
  if (near !== null)
    throw new UsageError(`there is no "divan backup ${words[0]}"; did you mean "divan backup ${near}"?`);
  return words.length === 0 ? folderDefault : oneFolder('divan backup FOLDER', words);
}

function asJson(
  { manifest, isResumed, skippedBuckets, lacksIndexes, indexNotes, notContinued }: BackupResult,
  folder: string,
): unknown {
  const { name, type, startedAt, endedAt } = manifest;
  const buckets = manifest.buckets.map((bucket) => ({
    name: bucket.name,
    bytes: bucket.bytes,
    ...capturedCounts(bucket),
  }));
  return {
    folder,
    backup: name,
    type,
    resumed: isResumed,
    startedAt,
    endedAt,
    buckets,
    bucketsLeftOut: skippedBuckets,
    indexesLeftOut: lacksIndexes,
    ...(indexNotes.length > 0 && { notes: indexNotes }),
    notContinued,
  };
}

function asText(
  { manifest, isResumed, skippedBuckets, lacksIndexes, indexNotes, notContinued }: BackupResult,
  folder: string,
  seconds: number,
): string {
  const lines = manifest.buckets.map((bucket) => {
    const { documents, deletions } = capturedCounts(bucket);
    return `${bucket.name}: ${counted(documents, 'document')}, ${counted(deletions, 'deletion')}, ${sizeText(bucket.bytes)}`;
  });
  for (const name of skippedBuckets)
    lines.push(`${name}: left out; a bucket of type cache keeps nothing that could be backed up`);
  if (lacksIndexes) lines.push('indexes: left out; the user may not read their definitions');
  lines.push(...indexNotes);
  if (notContinued !== null) lines.push(`earlier backups cannot be continued: ${notContinued}`);
  const resumed = isResumed ? ', which was interrupted before,' : '';
  lines.push(
    `${manifest.type} backup ${manifest.name}${resumed} in ${folder}: complete after ${seconds.toFixed(1)} s`,
  );
  return lines.join('\n');
}

/** What the backup itself has, without the backups that it continues. */
function capturedCounts({ vbuckets }: BackupResult['manifest']['buckets'][number]): {
  documents: number;
  deletions: number;
} {
  const counts = { documents: 0, deletions: 0 };
  for (const { documents, deletions } of vbuckets) {
    counts.documents += documents;
    counts.deletions += deletions;
  }
  return counts;
}
