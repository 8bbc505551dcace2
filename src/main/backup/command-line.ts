// What the commands of backup and restore share: words beside options, the node, Ctrl-C, progress and output.

import { ArchiveError } from '#backup/format/archive-error.ts';
import { BackupNode } from '#backup/node/backup-node.ts';
import { type OptionSpecs, type OptionValues, parseOptions, UsageError } from '../options.ts';

/** Splits the words that are neither options nor their values from the options. */
export function splitWords<const S extends OptionSpecs>(
  args: readonly string[],
  specs: S,
): { words: string[]; options: OptionValues<S> } {
  const words: string[] = [];
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (!/^--[a-z]/.test(arg)) {
      words.push(arg);
      continue;
    }
    rest.push(arg);
    const spec = Object.hasOwn(specs, arg.slice(2)) ? specs[arg.slice(2)] : undefined;
    const needsValue = spec !== undefined && spec.kind.bare === undefined;
    if (needsValue && args[i + 1] !== undefined) rest.push(args[++i] as string);
  }
  return { words, options: parseOptions(specs, rest, process.env) };
}

/** At most one folder. */
export function oneFolder(words: readonly string[], missing: string | null): string {
  if (words.length > 1) throw new UsageError(`unexpected "${words[1]}": one folder is given`);
  const folder = words[0] ?? missing;
  if (folder === null) throw new UsageError('FOLDER is missing');
  if (folder === '') throw new UsageError('FOLDER is empty');
  return folder;
}

export function nodeOf({
  url,
  username,
  password,
}: {
  url: string;
  username: string;
  password: string;
}): BackupNode {
  const { protocol, hostname, port, pathname } = new URL(url);
  if (protocol !== 'http:')
    throw new UsageError('--url: only http:// is supported: documents go through the data port, without TLS');
  if (pathname !== '/') throw new UsageError(`--url: "${url}" has a path; give the address of a node only`);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new BackupNode({ host, port: port === '' ? 80 : Number(port), username, password });
}

const exitInterrupted = 130;

/** The first Ctrl-C or SIGTERM stops the task, which says what it left; the second ends the process. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(exitInterrupted);
    stop.abort(new ArchiveError('stopped'));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    return await work(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    process.stderr.write(`divan: ${(error as Error).message}\n`);
    process.exit(exitInterrupted);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}

/** One line on a terminal that is written again and again; nothing elsewhere. */
export class ProgressLine {
  private shownMs = 0;
  private isShown = false;

  show(text: string): void {
    if (!process.stderr.isTTY) return;
    const nowMs = performance.now();
    if (nowMs - this.shownMs < 100) return;
    this.shownMs = nowMs;
    this.isShown = true;
    process.stderr.write(`\r${text}\u001b[K`);
  }

  end(): void {
    if (this.isShown) process.stderr.write('\r\u001b[K');
    this.isShown = false;
  }
}

export const print = (text: string): void => void process.stdout.write(`${text}\n`);

export function sizeText(bytes: number): string {
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1_000_000_000).toFixed(2)} GB`;
}

/** Columns of equal width. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export const counted = (count: number, name: string): string => `${count} ${name}${count === 1 ? '' : 's'}`;
