// The latest changes of the followed vbuckets: for each of the last seqnos the hash of the key that got it.
// A key that was changed again since is found under its newest seqno only.
import type { VbucketRows } from './rows.ts';

const firstLength = 16;
/** A stream further behind than this reads from disk. */
const recentLengthMax = 16_384;

const noRing = new Uint32Array(0);

export class RecentChanges {
  /** Called when there are changes for the first time since `takeChanged`. */
  onChange: () => void = () => {};
  private readonly rings: Uint32Array[];
  private readonly first: Float64Array;
  private readonly last: Float64Array;
  /** The first seqno that some follower has not read; the ring keeps it unless it would grow above its largest length. */
  private readonly wanted: Float64Array;
  private readonly isChanged: Uint8Array;
  private changed: number[] = [];
  private totalBytes = 0;
  private readonly rows: VbucketRows;

  constructor(rows: VbucketRows) {
    this.rows = rows;
    this.rings = new Array<Uint32Array>(rows.count).fill(noRing);
    this.first = new Float64Array(rows.count);
    this.last = new Float64Array(rows.count);
    this.wanted = new Float64Array(rows.count);
    this.isChanged = new Uint8Array(rows.count);
  }

  /** Bytes of the rings. */
  get bytes(): number {
    return this.totalBytes;
  }

  follow(row: number): void {
    if (this.rings[row] !== noRing) return;
    this.put(row, newRing(firstLength));
    const high = this.rows.highSeqno[row] as number;
    this.first[row] = this.wanted[row] = high + 1;
    this.last[row] = high;
  }

  unfollow(row: number): void {
    this.put(row, noRing);
  }

  /** All followers have read what comes before `seqno`. */
  release(row: number, seqno: number): void {
    this.wanted[row] = seqno;
  }

  /** Called for each seqno that a change gets. */
  note(row: number, seqno: number, hash: number): void {
    let ring = this.rings[row] as Uint32Array;
    if (ring === noRing) return;
    if (seqno !== (this.last[row] as number) + 1) this.first[row] = this.wanted[row] = seqno;
    this.last[row] = seqno;
    if (seqno - (this.first[row] as number) >= ring.length) ring = this.makeRoom(row, ring);
    ring[seqno & (ring.length - 1)] = hash;
    this.touch(row);
  }

  /** Adds the seqnos between the last one and this one, which no key has any more. */
  skip(row: number, seqno: number): void {
    const first = (this.last[row] as number) + 1;
    if (this.rings[row] === noRing || seqno - first >= recentLengthMax) return;
    for (let missing = first; missing < seqno; missing++) this.note(row, missing, 0);
  }

  /** Reports the row as changed, though no change got a seqno. */
  touch(row: number): void {
    if (this.rings[row] === noRing || this.isChanged[row] === 1) return;
    this.isChanged[row] = 1;
    this.changed.push(row);
    if (this.changed.length === 1) this.onChange();
  }

  /** The item of this seqno leaves memory: followers must read from disk up to it. */
  noteEvicted(row: number, seqno: number): void {
    if (this.rings[row] !== noRing && seqno >= (this.first[row] as number)) this.first[row] = seqno + 1;
  }

  takeChanged(): number[] {
    const taken = this.changed;
    for (const row of taken) this.isChanged[row] = 0;
    this.changed = [];
    return taken;
  }

  /** Whether the ring holds every seqno after this one. */
  covers(row: number, afterSeqno: number): boolean {
    if (this.rings[row] === noRing || this.last[row] !== this.rows.highSeqno[row]) return false;
    return afterSeqno + 1 >= (this.first[row] as number);
  }

  /** The hash of the key that got this seqno, which the ring must hold. */
  hash(row: number, seqno: number): number {
    const ring = this.rings[row] as Uint32Array;
    return ring[seqno & (ring.length - 1)] as number;
  }

  private makeRoom(row: number, ring: Uint32Array): Uint32Array {
    const first = this.first[row] as number;
    if (first < (this.wanted[row] as number) || ring.length >= recentLengthMax) {
      this.first[row] = first + 1;
      return ring;
    }
    const longer = newRing(ring.length * 2);
    const last = this.last[row] as number;
    for (let seqno = first; seqno < last; seqno++) {
      longer[seqno & (longer.length - 1)] = ring[seqno & (ring.length - 1)] as number;
    }
    this.put(row, longer);
    return longer;
  }

  private put(row: number, ring: Uint32Array): void {
    this.totalBytes += ring.byteLength - (this.rings[row] as Uint32Array).byteLength;
    this.rings[row] = ring;
  }
}

const newRing = (length: number): Uint32Array => new Uint32Array(length);
