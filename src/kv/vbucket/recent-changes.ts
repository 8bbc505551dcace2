// The latest changes of the followed vbuckets: for each of the last seqnos the hash of the key that got it.
// A key that was changed again since is found under its newest seqno only.
import type { VbucketColumns } from './columns.ts';

const firstLength = 16;
/** A stream further behind than this reads from disk. */
const recentLengthMax = 16_384;

const noRing = new Uint32Array(0);

export class RecentChanges {
  /** Called when there are changes for the first time since `takeChanged`. */
  onChange: () => void = () => {};
  private readonly rings: Uint32Array[];
  /** The first and the last seqno that the ring of the vbucket holds. */
  private readonly first: Float64Array;
  private readonly last: Float64Array;
  /** The first seqno that some follower has not read; the ring keeps it unless it would grow above its largest length. */
  private readonly wanted: Float64Array;
  private readonly isChanged: Uint8Array;
  private changed: number[] = [];
  private totalBytes = 0;
  private readonly columns: VbucketColumns;

  constructor(columns: VbucketColumns) {
    this.columns = columns;
    this.rings = new Array<Uint32Array>(columns.count).fill(noRing);
    this.first = new Float64Array(columns.count);
    this.last = new Float64Array(columns.count);
    this.wanted = new Float64Array(columns.count);
    this.isChanged = new Uint8Array(columns.count);
  }

  /** Bytes of the rings. */
  get bytes(): number {
    return this.totalBytes;
  }

  follow(vb: number): void {
    if (this.rings[vb] !== noRing) return;
    this.put(vb, newRing(firstLength));
    const high = this.columns.highSeqno[vb] as number;
    this.first[vb] = this.wanted[vb] = high + 1;
    this.last[vb] = high;
  }

  /** The vbucket was rolled back: later changes get seqnos that other changes had before. */
  restart(vb: number): void {
    if (this.rings[vb] === noRing) return;
    this.unfollow(vb);
    this.follow(vb);
  }

  unfollow(vb: number): void {
    this.put(vb, noRing);
  }

  /** All followers have read what comes before `seqno`. */
  release(vb: number, seqno: number): void {
    this.wanted[vb] = seqno;
  }

  /** Called for each seqno that a change gets. */
  note(vb: number, seqno: number, hash: number): void {
    let ring = this.rings[vb] as Uint32Array;
    if (ring === noRing) return;
    if (seqno !== (this.last[vb] as number) + 1) this.first[vb] = this.wanted[vb] = seqno;
    this.last[vb] = seqno;
    if (seqno - (this.first[vb] as number) >= ring.length) ring = this.makeRoom(vb, ring);
    ring[seqno & (ring.length - 1)] = hash;
    this.touch(vb);
  }

  /** Adds the seqnos between the last one and this one, which no key has any more. */
  skip(vb: number, seqno: number): void {
    if (this.rings[vb] === noRing) return;
    const first = (this.last[vb] as number) + 1;
    // Followers that the ring cannot bring forward must read again.
    if (seqno - first >= recentLengthMax) this.touch(vb);
    else for (let missing = first; missing < seqno; missing++) this.note(vb, missing, 0);
  }

  /** Reports the vbucket as changed, though no change got a seqno. */
  touch(vb: number): void {
    if (this.rings[vb] === noRing || this.isChanged[vb] === 1) return;
    this.isChanged[vb] = 1;
    this.changed.push(vb);
    if (this.changed.length === 1) this.onChange();
  }

  /** The item of this seqno leaves memory: followers must read from disk up to it. */
  noteEvicted(vb: number, seqno: number): void {
    if (this.rings[vb] !== noRing && seqno >= (this.first[vb] as number)) this.first[vb] = seqno + 1;
  }

  takeChanged(): number[] {
    const taken = this.changed;
    for (const vb of taken) this.isChanged[vb] = 0;
    this.changed = [];
    return taken;
  }

  /** Whether the ring holds every seqno after this one. */
  covers(vb: number, afterSeqno: number): boolean {
    if (this.rings[vb] === noRing || this.last[vb] !== this.columns.highSeqno[vb]) return false;
    return afterSeqno + 1 >= (this.first[vb] as number);
  }

  /** The hash of the key that got this seqno, which the ring must hold. */
  hash(vb: number, seqno: number): number {
    const ring = this.rings[vb] as Uint32Array;
    return ring[seqno & (ring.length - 1)] as number;
  }

  private makeRoom(vb: number, ring: Uint32Array): Uint32Array {
    const first = this.first[vb] as number;
    if (first < (this.wanted[vb] as number) || ring.length >= recentLengthMax) {
      this.first[vb] = first + 1;
      return ring;
    }
    const longer = newRing(ring.length * 2);
    const last = this.last[vb] as number;
    for (let seqno = first; seqno < last; seqno++) {
      longer[seqno & (longer.length - 1)] = ring[seqno & (ring.length - 1)] as number;
    }
    this.put(vb, longer);
    return longer;
  }

  private put(vb: number, ring: Uint32Array): void {
    this.totalBytes += ring.byteLength - (this.rings[vb] as Uint32Array).byteLength;
    this.rings[vb] = ring;
  }
}

const newRing = (length: number): Uint32Array => new Uint32Array(length);
