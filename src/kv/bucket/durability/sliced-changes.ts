// Encodes what has changed in vbuckets whose states are to be on disk at once: in slices, between which clients are served.
import { type Clock, nextTurn } from '#ports/clock.ts';
import type { VbucketColumns } from '../../vbucket/columns.ts';
import type { Cutter } from '../../vbucket/cutter.ts';
import type { FileState } from './file-state.ts';

/** Bytes of cuts encoded before clients are served again: about a millisecond. */
export const sliceBytes = 256 * 1024;

interface SliceOptions {
  clock: Clock;
  columns: VbucketColumns;
  cutter: Cutter;
  /** Writes the cuts of the file. */
  commit: () => Promise<void>;
}

/** The changes of the vbuckets until now. The last slice stays with the file, for its next batch. */
export async function writeInSlices(
  file: FileState,
  vbs: readonly number[],
  { clock, columns, commit, cutter }: SliceOptions,
): Promise<void> {
  const { writer } = file;
  let limitBytes = writer.bytes + sliceBytes;
  for (const vb of vbs.filter((each) => file.vbs.includes(each))) {
    const upTo = columns.highSeqno[vb] as number;
    while ((columns.cutSeqno[vb] as number) < upTo && file.failure === null && !file.isFull) {
      file.ends.push({ vb, seqno: cutter.take(vb, writer, limitBytes) });
      if (writer.bytes < limitBytes) continue;
      await (writer.bytes < file.batchBytes ? nextTurn(clock) : commit());
      limitBytes = writer.bytes + sliceBytes;
    }
  }
}
