// The positions and figures of an index, in memory shared by the index thread and the query threads: a consistent scan
// compares and waits without messages.
import { vbucketCount } from '#client/document-key.ts';

/** The position of a vbucket whose history is not confirmed: it satisfies no wait. */
export const unknownSeqno = -1;

const headerWords = 8;
const bytes = 8 * (headerWords + 2 * vbucketCount);

export interface ScanFigures {
  readonly rows: number;
  readonly lastScanMs: number;
  readonly scans: number;
  readonly scannedRows: number;
  readonly scanMicros: number;
}

/** The figures of an index that cannot be scanned yet. */
export const noScans: ScanFigures = { rows: 0, lastScanMs: 0, scans: 0, scannedRows: 0, scanMicros: 0 };

/** Indexes of 64-bit words in the header. The first one has two 32-bit words: a counter of commits, and whether the index was dropped. */
const Word = { rows: 1, lastScanMs: 2, scans: 3, scannedRows: 4, scanMicros: 5, complete: 6 } as const;

export class IndexProgress {
  readonly buffer: SharedArrayBuffer;
  private readonly counter: Int32Array;
  private readonly words: BigInt64Array;
  private readonly complete: Int32Array;

  constructor(buffer = new SharedArrayBuffer(bytes)) {
    this.buffer = buffer;
    this.counter = new Int32Array(buffer, 0, 2);
    this.words = new BigInt64Array(buffer);
    this.complete = new Int32Array(buffer, 8 * Word.complete, 1);
  }

  get rows(): number {
    return this.get(Word.rows);
  }

  /** Milliseconds since 1970; 0: never. */
  get lastScanMs(): number {
    return this.get(Word.lastScanMs);
  }

  get scans(): number {
    return this.get(Word.scans);
  }

  get scannedRows(): number {
    return this.get(Word.scannedRows);
  }

  get scanMicros(): number {
    return this.get(Word.scanMicros);
  }

  figures(): ScanFigures {
    const { rows, lastScanMs, scans, scannedRows, scanMicros } = this;
    return { rows, lastScanMs, scans, scannedRows, scanMicros };
  }

  /** Adds a finished scan. */
  addScan(scan: { rows: number; micros: number; atMs: number }): void {
    Atomics.store(this.words, Word.lastScanMs, BigInt(Math.round(scan.atMs)));
    Atomics.add(this.words, Word.scans, 1n);
    Atomics.add(this.words, Word.scannedRows, BigInt(scan.rows));
    Atomics.add(this.words, Word.scanMicros, BigInt(Math.round(scan.micros)));
  }

  /** The end of the last complete snapshot of a vbucket in the index. */
  completeSeqno(vb: number): number {
    return Number(Atomics.load(this.words, headerWords + vb));
  }

  uuid(vb: number): bigint {
    return BigInt.asUintN(64, Atomics.load(this.words, headerWords + vbucketCount + vb));
  }

  /** Reads both consistently while another thread may set them: never the seqno of one history with the uuid of another. */
  position(vb: number): { completeSeqno: number; uuid: bigint } {
    for (;;) {
      const uuid = this.uuid(vb);
      const completeSeqno = this.completeSeqno(vb);
      if (this.uuid(vb) === uuid) return { completeSeqno, uuid };
    }
  }

  setPosition(vb: number, { completeSeqno, uuid }: { completeSeqno: number; uuid: bigint }): void {
    if (this.uuid(vb) !== uuid) {
      // Cleared between the two histories, so that no reader combines them.
      Atomics.store(this.words, headerWords + vb, BigInt(unknownSeqno));
      Atomics.store(this.words, headerWords + vbucketCount + vb, BigInt.asIntN(64, uuid));
    }
    Atomics.store(this.words, headerWords + vb, BigInt(completeSeqno));
  }

  setRows(rows: number): void {
    Atomics.store(this.words, Word.rows, BigInt(rows));
  }

  /** Wakes scans that wait for positions. */
  publish(): void {
    Atomics.add(this.counter, 0, 1);
    Atomics.notify(this.counter, 0);
  }

  /** Read this before comparing positions, and pass it to `changed`. */
  get commits(): number {
    return Atomics.load(this.counter, 0);
  }

  /** Resolves with the next `publish` after `commits` was read, or after `timeoutMs`. */
  async changed(commits: number, timeoutMs: number): Promise<void> {
    const waiting = Atomics.waitAsync(this.counter, 0, commits, timeoutMs);
    if (waiting.async) await waiting.value;
  }

  /** Set before the file of a dropped index is removed: scans then report the drop, not a missing file. */
  get isDropped(): boolean {
    return Atomics.load(this.counter, 1) === 1;
  }

  markDropped(): void {
    Atomics.store(this.counter, 1, 1);
  }

  /**
   * False before rows are removed from the file, until it is built again. The state of the index, which comes by message, says so only later. A
   * scan reads this once it has a snapshot of the file.
   */
  get isComplete(): boolean {
    return Atomics.load(this.complete, 0) === 1;
  }

  setComplete(isComplete: boolean): void {
    Atomics.store(this.complete, 0, Number(isComplete));
  }

  private get(word: number): number {
    return Number(Atomics.load(this.words, word));
  }
}
