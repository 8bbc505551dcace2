// `divan restore FOLDER`: writes the documents of a backup into a node.
import type { SelectionRequest } from '#backup/restore/document-selection.ts';
import { type RestoreResult, runRestore } from '#backup/restore/run-restore.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { keepYoungGenerationSize } from '#ports/spare-memory.ts';
import { type RestoreOptions, restoreOptions } from '../backup-options.ts';
import { ExitStatus } from '../exit-status.ts';
import { interruptible } from '../interruptible.ts';
import { UsageError } from '../options.ts';
import { splitWords } from '../split-words.ts';
import { counted, ProgressLine, print } from '../terminal.ts';
import { archivePassphrase, nodeOf, oneFolder } from './command-line.ts';

export async function runRestoreCommand(args: readonly string[]): Promise<void> {
  keepYoungGenerationSize();
  const { words, options } = splitWords(args, restoreOptions);
  const folder = oneFolder('divan restore FOLDER', words);
  if (options.replace && options.resume)
    throw new UsageError('--replace and --resume are given; --resume flushes only what was not flushed yet');
  if (options.backup !== undefined && options.end !== undefined)
    throw new UsageError('--backup and --end are given; they mean the same');
  const passphrase = archivePassphrase(options);
  const node = nodeOf(options);
  const line = new ProgressLine();
  const startedMs = realClock.monotonicMs();
  const request = {
    folder,
    backup: options.backup ?? options.end,
    start: options.start,
    ...selectionOf(options),
    passphrase,
    buckets: options.bucket,
    map: options.map,
    replaces: options.replace,
    isForced: options['force-updates'],
    createsBuckets: options['create-buckets'],
    withIndexes: options.indexes,
    resumes: options.resume,
    awaitsDisk: false,
  };
  try {
    const result = await interruptible((signal) =>
      runRestore(request, {
        node,
        clock: realClock,
        signal,
        progress: ({ bucket, documents, expected }) =>
          line.show(`${bucket}: ${documents} of about ${expected} documents`),
      }),
    );
    line.end();
    const hasLeftOut = result.buckets.some(({ leftOut }) => leftOut > 0);
    if (hasLeftOut || result.problems.length > 0) process.exitCode = ExitStatus.partial;
    print(
      options.json ? JSON.stringify(result) : asText(result, (realClock.monotonicMs() - startedMs) / 1_000),
    );
  } finally {
    line.end();
  }
}

function selectionOf(options: RestoreOptions): { selection?: SelectionRequest } {
  const selection = {
    filterKeys: options['filter-keys'],
    filterValues: options['filter-values'],
    replaceTtl: options['replace-ttl'],
    replaceTtlWith: options['replace-ttl-with'],
  };
  const { filterKeys, filterValues, replaceTtl, replaceTtlWith } = selection;
  if (replaceTtl === 'none' && replaceTtlWith !== 0)
    throw new UsageError('--replace-ttl-with: give --replace-ttl all or --replace-ttl expired too');
  const isAll = filterKeys === undefined && filterValues === undefined && replaceTtl === 'none';
  return isAll ? {} : { selection };
}

function asText({ backup, buckets, indexes, notes, problems }: RestoreResult, seconds: number): string {
  const lines = buckets.map(({ bucket, targets, documents, deletions, skipped, filtered }) => {
    const to = targets.length === 1 && targets[0] === bucket ? '' : ` to ${targets.join(', ')}`;
    const skippedText =
      skipped === 0 ? '' : `; ${skipped} of them skipped, since the bucket has them or newer ones`;
    const filteredText = filtered === 0 ? '' : `; ${filtered} others left out by the filters`;
    return `${bucket}${to}: ${counted(documents, 'document')}, ${counted(deletions, 'deletion')}${skippedText}${filteredText}`;
  });
  if (indexes > 0) lines.push(`${counted(indexes, 'index').replace('indexs', 'indexes')} created`);
  lines.push(...notes, ...problems, `backup ${backup}: restored in ${seconds.toFixed(1)} s`);
  return lines.join('\n');
}
