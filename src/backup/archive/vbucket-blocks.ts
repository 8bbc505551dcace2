// The blocks of one vbucket in a data file, from the last one, which the manifest names, to the first.
import { BackupError } from '../format/backup-error.ts';
import { Frame, FrameKind, frameOffsets } from '../format/frame.ts';
import type { CapturedVbucket } from '../format/manifest.ts';
import type { DataReader, ReadBlock } from './data-file.adapter.ts';

/** Checks that each block belongs to the vbucket and that none is missing. The caller disposes of each. */
function* blocksBackwards(
  data: DataReader,
  vb: number,
  { last, blocks }: Pick<CapturedVbucket, 'last' | 'blocks'>,
): Generator<ReadBlock> {
  let offset = last;
  let remaining = blocks;
  while (offset !== 0) {
    if (remaining-- === 0)
      throw new BackupError(`${data.path}: vbucket ${vb} has more than ${blocks} blocks`);
    const block = data.block(offset);
    const { header } = block;
    if (header.vb !== vb || header.isLast !== (offset === last))
      throw new BackupError(`${data.path}: the block at offset ${offset} is not one of vbucket ${vb}`);
    yield block;
    offset = header.previous;
  }
  if (remaining > 0)
    throw new BackupError(`${data.path}: vbucket ${vb} lacks ${remaining} of ${blocks} blocks`);
}

/** Yields each document, the newest first; the frame is valid until the next one. */
export function* documentsBackwards(data: DataReader, vb: number, record: CapturedVbucket): Generator<Frame> {
  const frame = new Frame();
  let seqno = record.to + 1;
  for (using block of blocksBackwards(data, vb, record)) {
    const plain = block.frames();
    const offsets = frameOffsets(plain, block.header.frames);
    for (let index = offsets.length - 1; index >= 0; index--) {
      frame.move(plain, offsets[index] as number);
      if (frame.kind === FrameKind.end) continue;
      if (frame.seqno >= seqno || frame.seqno <= record.from)
        throw new BackupError(`${data.path}: vbucket ${vb}: seqno ${frame.seqno} is not in its place`);
      seqno = frame.seqno;
      yield frame;
    }
  }
}

/** Yields each document, the oldest first; the frame is valid until the next one. Their order is checked by `documentsBackwards` only. */
export function* documentsForwards(data: DataReader, vb: number, record: CapturedVbucket): Generator<Frame> {
  const frame = new Frame();
  for (const offset of blockOffsets(data, vb, record)) {
    using block = data.block(offset);
    const plain = block.frames();
    for (const at of frameOffsets(plain, block.header.frames)) {
      frame.move(plain, at);
      if (frame.kind !== FrameKind.end) yield frame;
    }
  }
}

/** In the order of the file. */
function blockOffsets(data: DataReader, vb: number, { last, blocks }: CapturedVbucket): number[] {
  const offsets: number[] = [];
  for (let offset = last; offset !== 0; offset = data.header(offset).previous) {
    if (offsets.length === blocks)
      throw new BackupError(`${data.path}: vbucket ${vb} has more than ${blocks} blocks`);
    offsets.push(offset);
  }
  return offsets.reverse();
}
