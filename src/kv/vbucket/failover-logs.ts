// The failover log of each vbucket: its uuids and the seqno from which each holds, newest first. The array has
// the first entries of all vbuckets, then the second ones, and so on: nearly all have one entry only, so that most of it is never touched.
import { assert } from '#base/assert.ts';
import type { FailoverEntry } from '../data/documents.ts';

export const failoverEntriesMax = 25;
/** The uuid, high and low, and the seqno, high and low. */
const wordsOfEntry = 4;
export const failoverEntryBytes = 4 * wordsOfEntry;

export class FailoverLogs {
  private readonly count: number;
  private readonly lengths: Uint8Array;
  private readonly words: Uint32Array;

  constructor(vbucketCount: number) {
    this.count = vbucketCount;
    this.lengths = new Uint8Array(vbucketCount);
    this.words = new Uint32Array(vbucketCount * failoverEntriesMax * wordsOfEntry);
  }

  /**
   * Adds an entry; entries above its seqno are dropped, since their history was lost. Those at the same seqno stay, since streams may know
   * them, as long as all have room.
   */
  push(vb: number, entry: FailoverEntry): void {
    const entries = [entry, ...this.entries(vb).filter((old) => old.seqno <= entry.seqno)];
    while (entries.length > failoverEntriesMax) {
      // The oldest entry under which nothing changed; -1, the oldest of all, if each has changes.
      const removed = entries.findLastIndex(({ seqno }, index) => seqno === entries[index - 1]?.seqno);
      entries.splice(removed, 1);
    }
    this.put(vb, entries);
  }

  clear(vb: number): void {
    this.lengths[vb] = 0;
  }

  entries(vb: number): FailoverEntry[] {
    return Array.from({ length: this.lengths[vb] as number }, (_, index) => this.entry(vb, index));
  }

  /** High word of the newest entry's uuid. */
  uuidHi(vb: number): number {
    return this.words[vb * 4] as number;
  }
  uuidLo(vb: number): number {
    return this.words[vb * 4 + 1] as number;
  }

  /** The stored form: big-endian uuid and seqno of each entry. */
  encode(vb: number): Uint8Array {
    const encoded = Buffer.alloc((this.lengths[vb] as number) * failoverEntryBytes);
    for (let word = 0; word < encoded.length / 4; word++) {
      encoded.writeUInt32BE(this.words[this.at(vb, word >> 2) + (word & 3)] as number, word * 4);
    }
    return encoded;
  }

  decode(vb: number, encoded: Uint8Array): void {
    assert(encoded.length % failoverEntryBytes === 0, 'the length of a failover log is invalid');
    const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength);
    const entries: FailoverEntry[] = [];
    for (let at = 0; at < encoded.length; at += failoverEntryBytes) {
      const seqno = view.getUint32(at + 8) * 2 ** 32 + view.getUint32(at + 12);
      entries.push({ uuidHi: view.getUint32(at), uuidLo: view.getUint32(at + 4), seqno });
    }
    this.put(vb, entries.slice(0, failoverEntriesMax));
  }

  private at(vb: number, index: number): number {
    return (index * this.count + vb) * 4;
  }

  private entry(vb: number, index: number): FailoverEntry {
    const at = this.at(vb, index);
    const word = (offset: number): number => this.words[at + offset] as number;
    return { uuidHi: word(0), uuidLo: word(1), seqno: word(2) * 2 ** 32 + word(3) };
  }

  private put(vb: number, entries: FailoverEntry[]): void {
    this.lengths[vb] = entries.length;
    entries.forEach((entry, index) => {
      const high = Math.floor(entry.seqno / 2 ** 32);
      this.words.set([entry.uuidHi, entry.uuidLo, high, entry.seqno - high * 2 ** 32], this.at(vb, index));
    });
  }
}
