// The positions of a report, in the form of its frame. Nodes write and read thousands of them per second, so a position is not an object.
import { assert } from '#base/assert.ts';
import { readU16, readU48, writeU48 } from '#wire/bytes.ts';
import { type Mutable, type ReportedPosition, reportedPositionBytes as rowBytes } from './frames.ts';

const firstRows = 16;

/** The last position of each vbucket, in the order in which they were first set. */
export class PositionRows {
  private bytes = Buffer.allocUnsafe(firstRows * rowBytes);
  private count = 0;
  /** By vbucket: the number of its row, counted from 1; 0: none. */
  private readonly rowOf: Uint16Array;

  constructor(vbucketCount: number) {
    this.rowOf = new Uint16Array(vbucketCount);
  }

  set(
    shard: number,
    epoch: number,
    vb: number,
    received: number,
    persisted: number,
    following: boolean,
  ): void {
    const at = this.placeOf(vb);
    const { bytes } = this;
    bytes[at] = shard >>> 8;
    bytes[at + 1] = shard;
    writeU48(bytes, at + 2, epoch);
    bytes[at + 8] = vb >>> 8;
    bytes[at + 9] = vb;
    writeU48(bytes, at + 10, received);
    writeU48(bytes, at + 16, persisted);
    bytes[at + 22] = following ? 1 : 0;
  }

  /** Returns the rows, valid until the next call of `set`, and removes them. */
  drain(): Buffer {
    const taken = this.bytes.subarray(0, this.count * rowBytes);
    for (let at = 0; at < taken.length; at += rowBytes) this.rowOf[vbOf(taken, at)] = 0;
    this.count = 0;
    return taken;
  }

  private placeOf(vb: number): number {
    const row = this.rowOf[vb] as number;
    if (row > 0) return (row - 1) * rowBytes;
    const at = this.count * rowBytes;
    if (at === this.bytes.length) {
      const longer = Buffer.allocUnsafe(2 * at);
      this.bytes.copy(longer);
      this.bytes = longer;
    }
    this.rowOf[vb] = ++this.count;
    return at;
  }
}

/** Calls `visit` with each position, which is valid during the call. */
export function eachPosition(rows: Buffer, visit: (position: ReportedPosition) => void): void {
  const position: Mutable<ReportedPosition> = {
    shard: 0,
    epoch: 0,
    vb: 0,
    received: 0,
    persisted: 0,
    following: false,
  };
  for (let at = 0; at < rows.length; at += rowBytes) {
    position.shard = readU16(rows, at);
    position.epoch = readU48(rows, at + 2);
    position.vb = vbOf(rows, at);
    position.received = readU48(rows, at + 10);
    position.persisted = readU48(rows, at + 16);
    position.following = rows[at + 22] === 1;
    visit(position);
  }
}

/** The positions as objects. */
export function positionsIn(rows: Buffer): ReportedPosition[] {
  const positions: ReportedPosition[] = [];
  eachPosition(rows, (position) => positions.push({ ...position }));
  return positions;
}

/** The rows of these positions, of different vbuckets. */
export function rowsOf(positions: readonly ReportedPosition[]): Buffer {
  const rows = new PositionRows(Math.max(0, ...positions.map(({ vb }) => vb + 1)));
  for (const { epoch, following, persisted, received, shard, vb } of positions)
    rows.set(shard, epoch, vb, received, persisted, following);
  const taken = Buffer.from(rows.drain());
  assert(taken.length === positions.length * rowBytes, 'two positions name one vbucket');
  return taken;
}

const vbOf = (rows: Buffer, at: number): number => readU16(rows, at + 8);
