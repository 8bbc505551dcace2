// Writes the records of a file into a collection: the next ones are read while the ones before are written, so that a file of any size
// takes the same memory. After each part it reports up to which record everything is written.
import type { StoreReply, StoreRequest } from '#client/bucket-client.ts';
import { statusName } from '#client/data-port-error.ts';
import { Status } from '#wire/status.ts';
import { CommandError } from '../exit-status.ts';
import type { BucketData } from '../remote/bucket-data.ts';
import { type DocumentForm, documentOf, type ImportedDocument } from './source-documents.ts';
import type { SourceRecord, StartPosition } from './source-record.ts';

/** Up to `offset` every record is written or refused. */
export interface ImportState extends StartPosition {
  readonly written: number;
  /** Documents that the collection already had with the same content. */
  readonly present: number;
  readonly refused: number;
  /** All records up to `offset`, refused ones too: the number of the next record, from which its key may be generated. */
  readonly records: number;
}

export const importStart: ImportState = {
  offset: 0,
  line: 1,
  written: 0,
  present: 0,
  refused: 0,
  records: 0,
};

export interface ImportTarget {
  readonly data: BucketData;
  readonly collectionId: number;
  readonly kind: 'set' | 'add';
  /** Seconds from now, or a point in time; 0: none. */
  readonly expiry: number;
}

export interface ImportReports {
  /** Reports a record that cannot be imported; the import continues with the others. */
  refused(line: number, problem: string): void;
  /** Gets the reply to each write. */
  replied(reply: StoreReply): void;
  /** Called after each part. */
  advanced(state: ImportState): void;
}

interface Numbered extends ImportedDocument {
  readonly line: number;
}

const documentsMax = 1_000;
const bytesMax = 4 << 20;

export class ImportRun {
  private readonly target: ImportTarget;
  private readonly form: DocumentForm;
  private readonly reports: ImportReports;
  private state: ImportState;
  /** Records read since `state`. */
  private part: Numbered[] = [];
  private partBytes = 0;
  private partRefused = 0;
  private end: StartPosition;
  private records: number;
  private writing: Promise<void> = Promise.resolve();

  constructor(target: ImportTarget, form: DocumentForm, reports: ImportReports, state: ImportState) {
    this.target = target;
    this.form = form;
    this.reports = reports;
    this.state = state;
    this.end = state;
    this.records = state.records;
  }

  /** Resolves with the state after the last record. On abort it ends after the part that is being written. */
  async run(records: AsyncIterable<SourceRecord>, signal: AbortSignal): Promise<ImportState> {
    try {
      for await (const record of records) {
        this.addRecord(record);
        if (this.part.length >= documentsMax || this.partBytes >= bytesMax) await this.writePart();
        signal.throwIfAborted();
      }
      await this.writePart();
    } finally {
      await this.writing;
    }
    signal.throwIfAborted();
    return this.state;
  }

  private addRecord(record: SourceRecord): void {
    try {
      const document = documentOf(record, this.records, this.form);
      this.part.push({ ...document, line: record.line });
      this.partBytes += document.value.length;
    } catch (error) {
      this.partRefused++;
      this.reports.refused(record.line, (error as Error).message);
    }
    this.records++;
    this.end = { offset: record.end, line: record.endLine };
  }

  /** Waits for the part before, and starts to write this one. */
  private async writePart(): Promise<void> {
    await this.writing;
    const { part, partRefused, end, records } = this;
    this.part = [];
    this.partBytes = 0;
    this.partRefused = 0;
    this.writing = this.write(part).then(({ written, present, refused }) => {
      const before = this.state;
      this.state = {
        ...end,
        records,
        written: before.written + written,
        present: before.present + present,
        refused: before.refused + refused + partRefused,
      };
      this.reports.advanced(this.state);
    });
    this.writing.catch(() => {}); // a failure is thrown where `writing` is awaited next
  }

  private async write(
    part: readonly Numbered[],
  ): Promise<{ written: number; present: number; refused: number }> {
    const { data, collectionId, kind, expiry } = this.target;
    const requests = part.map(({ key, value }): StoreRequest => ({ kind, key, value, cas: 0n, expiry }));
    const replies = await data.store(collectionId, requests);
    const counts = { written: 0, present: 0, refused: 0 };
    for (const [index, reply] of (replies as StoreReply[]).entries()) {
      const { status } = reply;
      this.reports.replied(reply);
      const document = part[index] as Numbered;
      if (status === Status.success) counts.written++;
      else if (status === Status.keyExists && (await this.isPresent(document))) counts.present++;
      else {
        counts.refused++;
        this.reports.refused(document.line, problemOf(status, document.key));
      }
    }
    return counts;
  }

  /** An earlier import that was interrupted, or a request whose reply was lost, may have written the document. */
  private async isPresent({ key, value }: ImportedDocument): Promise<boolean> {
    const found = await this.target.data.get(this.target.collectionId, key);
    return found?.value.equals(value) ?? false;
  }
}

function problemOf(status: number, key: string): string {
  if (status === Status.keyExists) return `document "${key}" exists with another content`;
  if (status === Status.tooBig) return `document "${key}" is larger than 20 MiB`;
  if (status === Status.noAccess)
    throw new CommandError('the user may not write documents in this collection (role data_writer)');
  return `document "${key}": ${statusName(status)}`;
}
