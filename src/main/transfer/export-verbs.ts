// `divan export`: documents of a collection of a running node into a file.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ScannedDocument } from '#client/range-scan.ts';
import { realClock } from '#ports/clock.ts';
import { nodeConnection } from '../connection-options.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import { interruptible } from '../interruptible.ts';
import { choice, kinds, UsageError } from '../options.ts';
import { BucketData } from '../remote/bucket-data.ts';
import { collectionOptions, integerOption, jsonFlag } from '../remote/common-options.ts';
import { RemoteNode, type RemoteOptions } from '../remote/remote-node.ts';
import { type VerbOutput, verb } from '../remote/verb.ts';
import { counted, ProgressLine, sizeText } from '../terminal.ts';
import { pagesOf } from './collection-scan.ts';
import {
  columnsOf,
  exportedText,
  fieldsOfDocument,
  headOf,
  tailOf,
  type WrittenForm,
} from './document-writer.ts';
import { type FileFormat, formatOf, separatorOf } from './file-source.ts';
import { FileTarget, isStream } from './file-target.ts';
import { ProgressRecord } from './progress-record.ts';

/** How often the progress of the export is saved. */
const saveEveryMs = 1_000;
const fieldsMax = 10_000;

const exportOptions = {
  ...nodeConnection('user with the role data_reader, or more'),
  ...collectionOptions,
  json: jsonFlag,
  format: {
    kind: choice('lines', 'list', 'csv'),
    doc: 'JSON lines, a JSON list or CSV (default: by the end of the name: .json is a list, .csv is CSV)',
  },
  'include-key': {
    kind: kinds.text,
    default: '_key',
    doc: 'field that gets the key of each document; empty: none',
  },
  fields: {
    kind: kinds.text,
    repeat: true,
    doc: 'column of CSV; by default all fields of all documents, which are then read twice',
  },
  'errors-shown': {
    kind: integerOption(0, 1_000_000),
    default: 100,
    doc: 'how many documents that are left out are reported one by one',
  },
  resume: { kind: kinds.flag, default: false, doc: 'go on where an interrupted export ended' },
  replace: { kind: kinds.flag, default: false, doc: 'write over a file that exists' },
} as const;

interface ExportOptions extends RemoteOptions {
  readonly scope: string;
  readonly collection: string;
  readonly json: boolean;
  readonly format: FileFormat | undefined;
  readonly 'include-key': string;
  readonly fields: readonly string[];
  readonly 'errors-shown': number;
  readonly resume: boolean;
  readonly replace: boolean;
}

/** All vbuckets below `nextVb` are in the first `bytes` of the file. */
interface ExportState {
  readonly nextVb: number;
  readonly bytes: number;
  readonly documents: number;
  readonly leftOut: number;
  readonly fields: readonly string[];
}

export const exportVerbs = [
  verb(
    'BUCKET FILE',
    'exports the documents of a collection into a file (-: standard output); those that are no JSON are left out and reported',
    exportOptions,
    (options, [bucket = '', file = '']) =>
      interruptible((signal) => new Export(options, bucket, file, signal).run()),
  ),
];

/** @throws UsageError for two columns of one name, of which readers would find only one */
function refuseRepeatedColumns({ fields, 'include-key': keyField }: ExportOptions): void {
  const columns = keyField === '' ? fields : [keyField, ...fields];
  const repeated = columns.find((name, index) => columns.indexOf(name) < index);
  if (repeated === undefined) return;
  const reason = repeated === keyField ? 'is the column of the key; see --include-key' : 'is given twice';
  throw new UsageError(`--fields: "${repeated}" ${reason}`);
}

class Export {
  private readonly options: ExportOptions;
  private readonly bucket: string;
  private readonly file: string;
  private readonly format: FileFormat;
  private readonly signal: AbortSignal;
  private readonly record: ProgressRecord<ExportState> | null;
  private readonly line = new ProgressLine();
  private readonly problems: { key: string; problem: string }[] = [];
  private unshown = 0;
  private documents = 0;
  private leftOut = 0;
  private state: ExportState | null = null;
  private savedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ExportOptions, bucket: string, file: string, signal: AbortSignal) {
    this.options = options;
    this.bucket = bucket;
    this.file = file;
    this.signal = signal;
    this.format = options.format ?? formatOf(file);
    if (options.fields.length > 0 && this.format !== 'csv')
      throw new UsageError('--fields: only CSV has columns');
    refuseRepeatedColumns(options);
    const isContinuable = !isStream(file);
    if (options.resume && !isContinuable)
      throw new UsageError('--resume: standard output and pipes cannot be continued; give a file');
    const identity = {
      file: resolve(file),
      format: this.format,
      bucket,
      scope: options.scope,
      collection: options.collection,
      'include-key': options['include-key'],
      fields: options.fields,
    };
    this.record = isContinuable ? new ProgressRecord(`${file}.divan-export`, identity) : null;
  }

  async run(): Promise<VerbOutput | null> {
    const startedMs = realClock.monotonicMs();
    const { scope, collection, resume, replace } = this.options;
    const earlier = resume ? (this.record?.read() ?? null) : null;
    if (earlier === null && !replace && this.record !== null && existsSync(this.file))
      throw new CommandError(
        `FILE: ${this.file} exists; give --replace to write over it, or --resume to go on with an export`,
      );
    using data = await BucketData.open(new RemoteNode(this.options), this.bucket, this.signal);
    const collectionId = await data.collectionId(scope, collection);
    const fields = earlier?.fields ?? (await this.columns(data, collectionId));
    const form = {
      format: this.format,
      keyField: this.options['include-key'],
      fields,
      separator: separatorOf(this.file),
    };
    using target = FileTarget.open(this.file, earlier?.bytes ?? null);
    try {
      await this.write(data, collectionId, form, target, earlier);
    } catch (error) {
      throw this.interrupted(error, target);
    } finally {
      this.line.end();
    }
    this.record?.remove();
    if (this.leftOut > 0) process.exitCode = ExitStatus.partial;
    return this.summary(target.bytes, (realClock.monotonicMs() - startedMs) / 1_000);
  }

  private async write(
    data: BucketData,
    collectionId: number,
    form: WrittenForm,
    target: FileTarget,
    earlier: ExportState | null,
  ) {
    this.documents = earlier?.documents ?? 0;
    this.leftOut = earlier?.leftOut ?? 0;
    if (earlier === null) await target.write(headOf(form));
    this.save(target, earlier?.nextVb ?? 0, form, true);
    for await (const { vb, documents, isLast } of pagesOf(
      data,
      collectionId,
      earlier?.nextVb ?? 0,
      this.signal,
    )) {
      if (isLast) this.save(target, vb + 1, form, false);
      else await target.write(this.textOfPage(documents, form));
      this.line.show(
        `${counted(this.documents, 'document')}, ${Math.floor((vb / data.vbucketCount) * 100)} %`,
      );
    }
    await target.write(tailOf(form));
    target.sync();
  }

  private textOfPage(documents: readonly ScannedDocument[], form: WrittenForm): string {
    const texts: string[] = [];
    for (const document of documents) {
      try {
        texts.push(exportedText(document, form, this.documents === 0));
        this.documents++;
      } catch (error) {
        this.leftOut++;
        this.report(document.key, (error as Error).message);
      }
    }
    return texts.join('');
  }

  private save(target: FileTarget, nextVb: number, { fields }: WrittenForm, isDue: boolean): void {
    this.state = { nextVb, bytes: target.bytes, documents: this.documents, leftOut: this.leftOut, fields };
    if (!isDue && realClock.monotonicMs() - this.savedMs < saveEveryMs) return;
    this.savedMs = realClock.monotonicMs();
    target.sync();
    this.record?.write(this.state);
  }

  /** The columns of CSV: those that were asked for, or all that documents have. */
  private async columns(data: BucketData, collectionId: number): Promise<readonly string[]> {
    if (this.format !== 'csv' || this.options.fields.length > 0) return this.options.fields;
    const names = new Set<string>();
    for await (const { documents } of pagesOf(data, collectionId, 0, this.signal)) {
      for (const document of documents) for (const name of fieldsOfDocument(document)) names.add(name);
      if (names.size > fieldsMax)
        throw new CommandError(
          `the documents have more than ${fieldsMax} fields; name the columns with --fields`,
        );
    }
    return columnsOf(names, this.options['include-key']);
  }

  private report(key: string, problem: string): void {
    if (this.problems.length >= this.options['errors-shown']) {
      this.unshown++;
      return;
    }
    this.problems.push({ key, problem });
    this.line.end();
    process.stderr.write(`document ${JSON.stringify(key)}: ${problem}\n`);
  }

  private interrupted(error: unknown, target: FileTarget): unknown {
    if (this.state !== null && this.record !== null) {
      target.sync();
      this.record.write(this.state);
    }
    const reason = error instanceof Error ? error.message : String(error);
    const advice = this.record === null ? '' : '; go on with --resume';
    const done = `the file has ${counted(this.state?.documents ?? 0, 'document')}`;
    return new CommandError(
      `${reason}: ${done}${advice}`,
      this.signal.aborted ? ExitStatus.interrupted : ExitStatus.failure,
    );
  }

  /** If the documents go to standard output, writes the summary to standard error and returns null. */
  private summary(bytes: number, took: number): VerbOutput | null {
    const { documents, leftOut } = this;
    if (this.unshown > 0) process.stderr.write(`${counted(this.unshown, 'further document')} left out\n`);
    const left = leftOut === 0 ? '' : `, ${leftOut} left out`;
    const size = this.file === '-' ? '' : `, ${sizeText(bytes)}`;
    const text = `${counted(documents, 'document')} exported${left}${size} in ${took.toFixed(1)} s`;
    if (this.file !== '-')
      return { value: { documents, leftOut, bytes, seconds: took, problems: this.problems }, text };
    process.stderr.write(`${text}\n`);
    return null;
  }
}
