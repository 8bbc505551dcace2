// Commits encoded batches of changes to a bucket's files. After a failed commit the file takes no writes until it is opened again; only a commit
// that found the disk full is retried, with the same cuts.
import { DiskFullError } from '../../data/disk-engine.ts';
import { adaptBatchSize } from './batch-size.ts';
import { type CutBatch, discardBatches, type FileState } from './file-state.ts';
import type { FlusherOptions } from './flusher-options.ts';

export class BatchWriter {
  private readonly options: FlusherOptions;
  private readonly files: readonly FileState[];
  /** Called when the file's disk has become full. */
  private readonly retryLater: (file: FileState) => void;
  /** Bytes of batches that are not on disk. */
  bytes = 0;

  constructor(options: FlusherOptions, files: readonly FileState[], retryLater: (file: FileState) => void) {
    this.options = options;
    this.files = files;
    this.retryLater = retryLater;
  }

  /** Writes what is encoded as one batch, after those before it. */
  async commit(file: FileState, isUrgent: boolean): Promise<void> {
    const { ends } = file;
    if (ends.length === 0) return;
    file.ends = [];
    // The file may have failed while the cuts were encoded.
    if (file.failure !== null) return file.writer.discard();
    const cuts = file.writer.drain();
    this.bytes += cuts.byteLength;
    file.batches.push({ cuts, byteLength: cuts.byteLength, ends, isUrgent });
    await this.writeInTurn(file);
  }

  /** One batch after the other: a later one may have newer versions. Resolves when the present batches are written, or the disk is full. */
  writeInTurn(file: FileState): Promise<void> {
    const last = file.batches.at(-1) as CutBatch;
    file.writing = file.writing.then(async () => {
      while (file.failure === null && file.batches.includes(last))
        if (!(await this.write(file, file.batches[0] as CutBatch))) return;
    });
    return file.writing;
  }

  /** Writes the first batch; false when it did not reach the disk. */
  private async write(file: FileState, batch: CutBatch): Promise<boolean> {
    const { clock, disk, bucketUuid, progress, priority, timings } = this.options;
    const { byteLength, ends } = batch;
    const startedMs = clock.monotonicMs();
    let writingMs: number;
    try {
      writingMs = await disk.commit(bucketUuid, this.files.indexOf(file), batch.cuts, batch.isUrgent);
    } catch (error) {
      if (error instanceof DiskFullError) {
        batch.cuts = error.cuts;
        this.beginFull(file, error.message);
      } else this.fail(file, error);
      return false;
    }
    file.batches.shift();
    this.ended(batch);
    if (file.isFull) this.endFull(file);
    timings.commit.add(clock.monotonicMs() - startedMs);
    adaptBatchSize(file, byteLength, writingMs, priority);
    for (const { vb, seqno } of ends) progress.advance(vb, seqno);
    return true;
  }

  private beginFull(file: FileState, reason: string): void {
    if (file.isFull) return;
    file.isFull = true;
    const { bucketUuid, log, onFull } = this.options;
    log.error('bucket.disk.full', { bucketUuid, file: this.files.indexOf(file), reason });
    this.retryLater(file);
    onFull(reason);
  }

  private endFull(file: FileState): void {
    const { bucketUuid, log, onFull } = this.options;
    file.isFull = false;
    log.info('bucket.disk.has_space', { bucketUuid, file: this.files.indexOf(file) });
    if (this.files.every(({ isFull }) => !isFull)) onFull(null);
  }

  private fail(file: FileState, error: unknown): void {
    this.drop(file);
    const reason = error instanceof Error ? error.message : String(error);
    const index = this.files.indexOf(file);
    file.failure = reason;
    const { bucketUuid, log, onFailure } = this.options;
    log.error('bucket.commit.failed', { bucketUuid, file: index, reason });
    onFailure(index, reason);
  }

  /** Forgets the batches that are not on disk. */
  drop(file: FileState): void {
    for (const batch of file.batches) this.ended(batch);
    discardBatches(file);
  }

  private ended({ byteLength, cuts }: CutBatch): void {
    this.bytes -= byteLength;
    this.options.disk.cutMemory?.release(cuts);
  }
}
