// `divan import`: documents of a file into a collection of a running node.

import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { StoreReply } from '#client/bucket-client.ts';
import { realClock } from '#ports/clock.ts';
import { keyBytesMax } from '#wire/collection-id.ts';
import { nodeConnection } from '../connection-options.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import { interruptible } from '../interruptible.ts';
import { choice, kinds, type OptionKind, UsageError } from '../options.ts';
import { BucketData, type VbucketHistories } from '../remote/bucket-data.ts';
import {
  collectionOptions,
  expiryAfter,
  expirySeconds,
  integerOption,
  jsonFlag,
} from '../remote/common-options.ts';
import { RemoteNode, type RemoteOptions } from '../remote/remote-node.ts';
import { type VerbOutput, verb } from '../remote/verb.ts';
import { counted, ProgressLine } from '../terminal.ts';
import {
  type FileFormat,
  fileState,
  formatOf,
  recordsOf,
  type SourceFile,
  separatorOf,
} from './file-source.ts';
import { ImportRun, type ImportState, importStart } from './import-run.ts';
import { type KeyGenerator, keyPattern } from './key-generator.ts';
import { ProgressRecord } from './progress-record.ts';
import { fileStart, type StartPosition } from './source-record.ts';
import { hasLost, noteWritten, type WrittenPositions } from './written-positions.ts';

/** How often the progress of the import is saved. */
const saveEveryMs = 1_000;

const separator: OptionKind<string> = {
  placeholder: 'CHARACTER',
  parse(text) {
    const value = text === '\\t' ? '\t' : text;
    if (/^[\t -~]$/.test(value) && value !== '"') return value;
    throw new UsageError(`"${text}" is not one character of ASCII such as , ; or \\t`);
  },
};

const importOptions = {
  ...nodeConnection('user with the role data_writer, or more'),
  ...collectionOptions,
  json: jsonFlag,
  'generate-key': { kind: keyPattern, doc: 'key of each document, such as airline::%id%', required: true },
  format: {
    kind: choice('lines', 'list', 'csv'),
    doc: 'JSON lines, a JSON list or CSV (default: by the end of the name: .json is a list, .csv and .tsv are CSV)',
  },
  mode: {
    kind: choice('upsert', 'insert'),
    default: 'upsert',
    doc: 'whether documents that exist are replaced, or refused unless they are equal',
  },
  'ignore-fields': { kind: kinds.text, repeat: true, doc: 'field that documents are stored without' },
  separator: {
    kind: separator,
    doc: 'character between the cells of CSV (default: a comma; for .tsv a tab)',
  },
  'infer-types': {
    kind: kinds.flag,
    default: false,
    doc: 'store cells of CSV that are numbers, true or false as such',
  },
  'omit-empty': { kind: kinds.flag, default: false, doc: 'store no field for an empty cell of CSV' },
  expiry: { kind: expirySeconds, doc: 'time after which the documents expire' },
  'errors-shown': {
    kind: integerOption(0, 1_000_000),
    default: 100,
    doc: 'how many refused lines are reported one by one',
  },
  resume: { kind: kinds.flag, default: false, doc: 'go on where an interrupted import ended' },
  'progress-file': {
    kind: kinds.path,
    doc: 'file that records the progress of the import (default: FILE.divan-import)',
  },
} as const;

interface ImportOptions extends RemoteOptions {
  readonly scope: string;
  readonly collection: string;
  readonly 'generate-key': KeyGenerator;
  readonly format: FileFormat | undefined;
  readonly mode: 'upsert' | 'insert';
  readonly 'ignore-fields': readonly string[];
  readonly separator: string | undefined;
  readonly 'infer-types': boolean;
  readonly 'omit-empty': boolean;
  readonly expiry: number | undefined;
  readonly 'errors-shown': number;
  readonly resume: boolean;
  readonly 'progress-file': string | undefined;
}

/** What the progress file has. */
interface Saved {
  /** The keys that #UUID# generates are derived from it. */
  readonly seed: string;
  /** What was written, to find out whether the bucket lost documents since; null: the user may not read that. */
  readonly positions: WrittenPositions | null;
  readonly state: ImportState;
}

export const importVerbs = [
  verb(
    'BUCKET FILE',
    'imports the documents of a file (-: standard input) into a collection; lines with errors are reported with their number, and all others are imported',
    importOptions,
    (options, [bucket = '', file = '']) =>
      interruptible((signal) => new Import(options, bucket, file, signal).run()),
  ),
];

const isLost = (positions: WrittenPositions, histories: readonly VbucketHistories[] | null): boolean =>
  histories === null || hasLost(positions, (vb) => histories[vb]);

/** @throws UsageError for an option that has no effect on documents that are JSON */
function refuseCsvOptions(options: ImportOptions): void {
  const given = csvOptions.find((name) => options[name] !== undefined && options[name] !== false);
  if (given !== undefined) throw new UsageError(`--${given}: only CSV has cells`);
}

const csvOptions = ['separator', 'infer-types', 'omit-empty'] as const;

class Import {
  private readonly options: ImportOptions;
  private readonly bucket: string;
  private readonly source: SourceFile;
  private readonly signal: AbortSignal;
  private readonly record: ProgressRecord<Saved> | null;
  private readonly totalBytes: number | null;
  private readonly line = new ProgressLine();
  private readonly problems: { line: number; problem: string }[] = [];
  private unshown = 0;
  private state = importStart;
  private savedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ImportOptions, bucket: string, file: string, signal: AbortSignal) {
    const format = options.format ?? formatOf(file);
    this.options = options;
    this.bucket = bucket;
    this.signal = signal;
    if (format !== 'csv') refuseCsvOptions(options);
    this.source = { path: file, format, separator: options.separator ?? separatorOf(file) };
    const present = fileState(file);
    this.totalBytes = present?.bytes ?? null;
    if (present === null && options.resume)
      throw new UsageError('--resume: standard input cannot be read again; give a file');
    if (present === null && options['progress-file'] !== undefined)
      throw new UsageError('--progress-file: standard input cannot be read again; give a file');
    if (present === null && options['password-file'] === '-')
      throw new UsageError('FILE and --password-file: both name standard input');
    this.record =
      present === null
        ? null
        : new ProgressRecord(options['progress-file'] ?? `${file}.divan-import`, {
            file: resolve(file),
            bytes: present.bytes,
            changed: present.changedMs,
            format,
            separator: this.source.separator,
            bucket,
            scope: options.scope,
            collection: options.collection,
            mode: options.mode,
            'generate-key': options['generate-key'].text,
            'ignore-fields': options['ignore-fields'],
            'infer-types': options['infer-types'],
            'omit-empty': options['omit-empty'],
          });
  }

  async run(): Promise<VerbOutput> {
    const startedMs = realClock.monotonicMs();
    const { scope, collection } = this.options;
    // First: nothing is begun that --resume could continue where the names of the fields are wrong.
    const header = await this.header();
    using data = await BucketData.open(new RemoteNode(this.options), this.bucket, this.signal);
    const collectionId = await data.collectionId(scope, collection);
    const saved = this.begin(await data.histories());
    try {
      const start =
        this.state.offset === 0 && header !== null ? { ...importStart, ...header.end } : this.state;
      const form = {
        keys: this.options['generate-key'],
        seed: saved.seed,
        keyBytesMax: collectionId === 0 ? keyBytesMax.inDefault : keyBytesMax.inOthers,
        ignoredFields: this.options['ignore-fields'],
        header: header?.names ?? null,
        infersTypes: this.options['infer-types'],
        omitsEmpty: this.options['omit-empty'],
      };
      const target = {
        data,
        collectionId,
        kind: this.options.mode === 'insert' ? 'add' : 'set',
        expiry: expiryAfter(this.options.expiry ?? 0),
      } as const;
      const reports = {
        refused: (line: number, problem: string) => this.report(line, problem),
        replied: (reply: StoreReply) => {
          if (saved.positions !== null) noteWritten(saved.positions, reply);
        },
        advanced: (state: ImportState) => this.advance({ ...saved, state }),
      };
      const records =
        this.source.path === '-' && header !== null ? header.rest : recordsOf(this.source, start);
      await new ImportRun(target, form, reports, start).run(records, this.signal);
      if (saved.positions !== null && isLost(saved.positions, await data.histories()))
        throw new CommandError('a node ended during the import and lost documents that it had acknowledged');
    } catch (error) {
      throw this.interrupted(error, saved);
    } finally {
      this.line.end();
    }
    this.record?.remove();
    if (this.state.refused > 0) process.exitCode = ExitStatus.partial;
    return this.summary((realClock.monotonicMs() - startedMs) / 1_000);
  }

  /** The progress of an earlier import, or new progress, which it saves before it writes the first document. */
  private begin(histories: readonly VbucketHistories[] | null): Saved {
    const fresh = { seed: randomUUID(), positions: histories && {}, state: importStart };
    const earlier = this.options.resume ? this.record?.read() : null;
    let saved = earlier ?? fresh;
    if (this.options.resume && !earlier)
      process.stderr.write('divan: no interrupted import is known; the import starts with the first line\n');
    // An earlier version has saved no positions.
    if (earlier && (!earlier.positions || isLost(earlier.positions, histories))) {
      // The same seed: records that are written again get the same keys.
      saved = { ...fresh, seed: earlier.seed };
      process.stderr.write(
        'divan: the bucket may have lost documents since; all are written again, from the first line on\n',
      );
    }
    this.state = saved.state;
    this.record?.write(saved);
    return saved;
  }

  private advance(saved: Saved): void {
    this.state = saved.state;
    const { written, present, refused, offset } = saved.state;
    const share =
      this.totalBytes === null ? '' : `, ${Math.floor((offset / Math.max(1, this.totalBytes)) * 100)} %`;
    this.line.show(
      `${counted(written + present, 'document')}${share}${refused === 0 ? '' : `, ${refused} refused`}`,
    );
    if (realClock.monotonicMs() - this.savedMs < saveEveryMs) return;
    this.savedMs = realClock.monotonicMs();
    this.record?.write(saved);
  }

  private report(line: number, problem: string): void {
    if (this.problems.length >= this.options['errors-shown']) {
      this.unshown++;
      return;
    }
    this.problems.push({ line, problem });
    this.line.end();
    process.stderr.write(`line ${line}: ${problem}\n`);
  }

  /** Reports how much was written, also after Ctrl-C and when a node does not answer. */
  private interrupted(error: unknown, saved: Saved): unknown {
    const { written, present, line } = this.state;
    this.record?.write({ ...saved, state: this.state });
    const reason = error instanceof Error ? error.message : String(error);
    const advice = this.record === null ? '' : '; go on with --resume';
    const done = `the bucket has ${counted(written + present, 'document')} of the lines before ${line}`;
    return new CommandError(
      `${reason}: ${done}${advice}`,
      this.signal.aborted ? ExitStatus.interrupted : ExitStatus.failure,
    );
  }

  private summary(took: number): VerbOutput {
    const { written, present, refused } = this.state;
    if (this.unshown > 0) process.stderr.write(`${counted(this.unshown, 'further line')} refused\n`);
    const parts = [
      `${counted(written, 'document')} written`,
      ...(present > 0 ? [`${present} existed already`] : []),
      ...(refused > 0 ? [`${counted(refused, 'line')} refused`] : []),
    ];
    return {
      value: { written, present, refused, seconds: took, problems: this.problems },
      text: `${parts.join(', ')} in ${took.toFixed(1)} s`,
    };
  }

  /** The names in the first line of CSV, and where it ends; null for JSON. */
  private async header() {
    if (this.source.format !== 'csv') return null;
    const rest = recordsOf(this.source, fileStart);
    const first = await rest.next();
    const content = first.done ? null : first.value.content;
    if (first.done || !Array.isArray(content))
      throw new CommandError(
        `the first line of CSV names the fields; it ${first.done ? 'is missing' : first.value.problem}`,
      );
    const names = content as string[];
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new CommandError(`the first line names the field "${twice}" twice`);
    const end: StartPosition = { offset: first.value.end, line: first.value.endLine };
    if (this.source.path !== '-') await rest.return(undefined);
    return { names, end, rest };
  }
}
