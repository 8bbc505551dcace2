// SQLite stops reading a write-ahead log at the first frame with a wrong checksum, because a crash may leave the last commit incomplete, and
// ignores everything after it. A crash leaves at most one commit there, an unacknowledged one. If there are more, the log is damaged, and
// opening the file would silently lose acknowledged data.
// Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
import { closeSync, openSync, readSync } from 'node:fs';

const headerBytes = 32;
const frameHeaderBytes = 24;

/**
 * Throws if the log has acknowledged commits that SQLite would ignore. Only reads. Returns the size that the database has after a checkpoint
 * of the log; 0 without commits in the log.
 */
export function checkWal(path: string): number {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
  try {
    return checkFrames(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function checkFrames(descriptor: number): number {
  const header = Buffer.alloc(headerBytes);
  // An incomplete header means that SQLite was restarting the log: the previous content of the log is in the database file.
  if (readSync(descriptor, header, 0, headerBytes, 0) < headerBytes) return 0;
  const sum = new WalChecksum((header.readUInt32BE(0) & 1) === 1);
  sum.add(header, 0, 24);
  if (!sum.matches(header, 24)) return 0;
  const pageBytes = header.readUInt32BE(8);
  const frame = Buffer.alloc(frameHeaderBytes + pageBytes);
  let number = 0;
  let firstBad = 0;
  let commitsBehind = 0;
  let pages = 0;
  for (
    let at = headerBytes;
    readSync(descriptor, frame, 0, frame.length, at) === frame.length;
    at += frame.length
  ) {
    number++;
    const isOfThisLog = header.compare(frame, 8, 16, 16, 24) === 0;
    if (firstBad === 0 && !(isOfThisLog && hasRightChecksum(frame, sum))) firstBad = number;
    const pagesAfterCommit = frame.readUInt32BE(4);
    if (firstBad === 0 && pagesAfterCommit > 0) pages = pagesAfterCommit;
    if (firstBad > 0 && isOfThisLog && pagesAfterCommit !== 0) commitsBehind++;
  }
  if (commitsBehind > 1) {
    throw new Error(`its write-ahead log is damaged at frame ${firstBad}, before ${commitsBehind} commits`);
  }
  return pages * pageBytes;
}

/** Adds the frame to the cumulative checksum `sum`, and compares the result with the checksum in the frame. */
function hasRightChecksum(frame: Buffer, sum: WalChecksum): boolean {
  sum.add(frame, 0, 8);
  sum.add(frame, frameHeaderBytes, frame.length);
  return sum.matches(frame, 16);
}

/** The cumulative checksum over the header and all frames. */
class WalChecksum {
  private readonly bigEndian: boolean;
  private first = 0;
  private second = 0;

  constructor(bigEndian: boolean) {
    this.bigEndian = bigEndian;
  }

  add(bytes: Buffer, start: number, end: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const littleEndian = !this.bigEndian;
    let { first, second } = this;
    for (let at = start; at < end; at += 8) {
      first = (first + view.getUint32(at, littleEndian) + second) >>> 0;
      second = (second + view.getUint32(at + 4, littleEndian) + first) >>> 0;
    }
    this.first = first;
    this.second = second;
  }

  matches(bytes: Buffer, at: number): boolean {
    return bytes.readUInt32BE(at) === this.first && bytes.readUInt32BE(at + 4) === this.second;
  }
}
