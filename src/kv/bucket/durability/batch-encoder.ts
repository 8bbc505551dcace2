// Encodes the changes of a file into its writer: those that a flush writes, and those of vbuckets whose state is to be written. Many
// changes take several turns.
import { type Clock, nextTurn } from '#ports/clock.ts';
import type { VbucketColumns } from '../../vbucket/columns.ts';
import type { Cutter } from '../../vbucket/cutter.ts';
import { batchBytesMax } from './batch-size.ts';
import type { FileState } from './file-state.ts';
import type { DirtyBytes } from './flush-delay.ts';
import type { VbucketProgress } from './progress.ts';
import { ReplicatedChanges } from './replicated-changes.ts';

/** Bytes of cuts encoded before clients are served again: about a millisecond. */
const sliceBytes = 256 * 1024;

export interface BatchEncoderOptions {
  columns: VbucketColumns;
  cutter: Cutter;
  clock: Clock;
  progress: Pick<VbucketProgress, 'isReceivedByOthers'>;
}

export class BatchEncoder {
  private readonly options: BatchEncoderOptions;
  private readonly replicated: ReplicatedChanges;

  constructor(options: BatchEncoderOptions) {
    this.options = options;
    this.replicated = new ReplicatedChanges(options.columns, options.progress);
  }

  /** See `ReplicatedChanges.check`. */
  checkReplicated({ vbs }: FileState): void {
    this.replicated.check(vbs);
  }

  hasDirty({ vbs }: FileState): boolean {
    return vbs.some((vb) => this.options.cutter.hasChanges(vb));
  }

  /** `bytes`: those of all dirty items of the file; `due`: those of the items that the next flush does not defer. */
  dirty(file: FileState): Pick<DirtyBytes, 'bytes' | 'due'> {
    let [bytes, due] = [0, 0];
    for (const vb of file.vbs) {
      const dirty = this.options.columns.dirtyBytes[vb] as number;
      bytes += dirty;
      if (!this.defers(file, vb)) due += dirty;
    }
    return { bytes, due };
  }

  /** Each cut shows its vbucket at one instant, but a batch may combine cuts of several instants. */
  async encodeBatch(file: FileState): Promise<void> {
    const { writer } = file;
    let left = file.vbs.length;
    for (;;) {
      left = this.encodeSlice(file, left, Math.min(writer.bytes + sliceBytes, file.batchBytes));
      if (left === 0 || writer.bytes >= file.batchBytes) return;
      await nextTurn(this.options.clock);
    }
  }

  highSeqnos(vbs: readonly number[]): ReadonlyMap<number, number> {
    return new Map(vbs.map((vb) => [vb, this.options.columns.highSeqno[vb] as number]));
  }

  /**
   * Takes the changes of each vbucket up to its seqno, until those that are left fit in one slice. Returns true when the writer has a full
   * batch before that: the caller commits the batch and calls again.
   */
  async encodeMost(file: FileState, upTo: ReadonlyMap<number, number>): Promise<boolean> {
    const { clock, columns } = this.options;
    for (;;) {
      const left = [...upTo].filter(([vb, seqno]) => (columns.cutSeqno[vb] as number) < seqno);
      const vbs = left.map(([vb]) => vb);
      if (this.dirtyBytesOf(vbs) <= sliceBytes) return false;
      this.encodeSliceOf(file, vbs);
      if (file.writer.bytes >= batchBytesMax) return true;
      await nextTurn(clock);
    }
  }

  /** Takes the states of these vbuckets and, `withChanges`, all of their dirty items, in one turn. */
  encodeStates(file: FileState, vbs: Iterable<number>, withChanges: boolean): void {
    for (const vb of vbs)
      if (withChanges) this.encodeChanges(file, vb, Infinity);
      else file.ends.push({ vb, seqno: this.options.cutter.cutState(vb, file.writer) });
  }

  private dirtyBytesOf(vbs: readonly number[]): number {
    return vbs.reduce((sum, vb) => sum + (this.options.columns.dirtyBytes[vb] as number), 0);
  }

  private encodeSliceOf(file: FileState, vbs: readonly number[]): void {
    const { writer } = file;
    const limitBytes = writer.bytes + sliceBytes;
    for (const vb of vbs) {
      if (writer.bytes >= limitBytes) return;
      if (this.options.cutter.hasChanges(vb)) this.encodeChanges(file, vb, limitBytes);
    }
  }

  /** Encodes until the batch has `limitBytes` or `left` vbuckets were visited. Returns how many are left. */
  private encodeSlice(file: FileState, left: number, limitBytes: number): number {
    const { cutter } = this.options;
    const { vbs, writer } = file;
    let remaining = left;
    while (remaining > 0 && writer.bytes < limitBytes) {
      const vb = vbs[file.cursor] as number;
      const isWritten = !this.defers(file, vb);
      if (isWritten && cutter.hasChanges(vb)) this.encodeChanges(file, vb, limitBytes);
      // A vbucket that was cut short continues in the next slice, or batch.
      if (isWritten && cutter.hasChanges(vb) && writer.bytes >= limitBytes) break;
      file.cursor = (file.cursor + 1) % vbs.length;
      file.unvisitedVbuckets = Math.max(0, file.unvisitedVbuckets - 1);
      remaining--;
    }
    return remaining;
  }

  private encodeChanges({ ends, writer }: FileState, vb: number, limitBytes: number): void {
    ends.push({ vb, seqno: this.options.cutter.cut(vb, writer, limitBytes) });
  }

  private defers({ defersReplicated }: FileState, vb: number): boolean {
    return defersReplicated && this.replicated.has(vb);
  }
}
