// What an interrupted backup has in a data file: the vbuckets whose last block was written, and the end of the last whole block.
import { type Clock, nextTurn } from '#ports/clock.ts';
import type { DataReader } from '../archive/data-file.adapter.ts';
import { fileHeaderBytes, nextOffset } from '../archive/data-file.adapter.ts';
import { BackupError } from '../format/backup-error.ts';
import { Frame, FrameKind, frameOffsets } from '../format/frame.ts';
import { type CountedVbucket, vbucketRecord } from '../format/manifest.ts';

export interface PartialFile {
  readonly vbuckets: ReadonlyMap<number, CountedVbucket>;
  readonly bytes: number;
}

/** Reads the whole file, block by block, with other work of the thread in between. @throws the reason of the signal */
export async function readPartialFile(
  data: DataReader,
  { clock, signal }: { clock: Pick<Clock, 'soon'>; signal: AbortSignal },
): Promise<PartialFile> {
  const vbuckets = new Map<number, CountedVbucket>();
  let offset = fileHeaderBytes;
  while (offset < data.bytes) {
    await nextTurn(clock);
    signal.throwIfAborted();
    const block = blockAt(data, offset);
    if (block === null) break;
    if (block.record !== null) vbuckets.set(block.vb, block.record);
    offset = block.next;
  }
  return { vbuckets, bytes: offset };
}

/** Null for a block that is cut off or damaged: the block and what follows are captured again. */
function blockAt(
  data: DataReader,
  offset: number,
): { vb: number; record: CountedVbucket | null; next: number } | null {
  try {
    using block = data.block(offset);
    const { header } = block;
    const next = nextOffset(header);
    if (!header.isLast) return { vb: header.vb, record: null, next };
    const plain = block.frames();
    const frame = new Frame();
    frame.move(plain, frameOffsets(plain, header.frames).at(-1) as number);
    if (frame.kind !== FrameKind.end) return null;
    const record = vbucketRecord({ ...JSON.parse(frame.value.toString()), last: offset });
    return { vb: header.vb, record, next };
  } catch (error) {
    if (error instanceof BackupError || error instanceof SyntaxError) return null;
    throw error;
  }
}
