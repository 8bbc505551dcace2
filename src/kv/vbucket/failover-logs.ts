// The failover log of each vbucket: its uuids and the seqno from which each holds, newest first. Stored entry by entry
// over all vbuckets, because nearly all have one entry only.
import { assert } from '#base/assert.ts';
import type { FailoverEntry } from '../data/documents.ts';

export const failoverEntriesMax = 25;
/** The uuid, high and low, and the seqno, high and low. */
const wordsOfEntry = 4;
const entryBytes = 4 * wordsOfEntry;

export class FailoverLogs {
  private readonly count: number;
  private readonly lengths: Uint8Array;
  private readonly words: Uint32Array;

  constructor(vbucketCount: number) {
    this.count = vbucketCount;
    this.lengths = new Uint8Array(vbucketCount);
    this.words = new Uint32Array(vbucketCount * failoverEntriesMax * wordsOfEntry);
  }

  /** Adds an entry at `seqno`; entries at or above it are dropped, since their history was lost. */
  push(row: number, entry: FailoverEntry): void {
    const older = this.entries(row).filter((old) => old.seqno < entry.seqno);
    this.put(row, [entry, ...older].slice(0, failoverEntriesMax));
  }

  clear(row: number): void {
    this.lengths[row] = 0;
  }

  entries(row: number): FailoverEntry[] {
    return Array.from({ length: this.lengths[row] as number }, (_, index) => this.entry(row, index));
  }

  /** High word of the newest entry's uuid. */
  uuidHi(row: number): number {
    return this.words[row * 4] as number;
  }
  uuidLo(row: number): number {
    return this.words[row * 4 + 1] as number;
  }

  /** The stored form: big-endian uuid and seqno of each entry. */
  encode(row: number): Uint8Array {
    const encoded = Buffer.alloc((this.lengths[row] as number) * entryBytes);
    for (let word = 0; word < encoded.length / 4; word++) {
      encoded.writeUInt32BE(this.words[this.at(row, word >> 2) + (word & 3)] as number, word * 4);
    }
    return encoded;
  }

  decode(row: number, encoded: Uint8Array): void {
    assert(encoded.length % entryBytes === 0, 'the length of a failover log is invalid');
    const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength);
    const entries: FailoverEntry[] = [];
    for (let at = 0; at < encoded.length; at += entryBytes) {
      const seqno = view.getUint32(at + 8) * 2 ** 32 + view.getUint32(at + 12);
      entries.push({ uuidHi: view.getUint32(at), uuidLo: view.getUint32(at + 4), seqno });
    }
    this.put(row, entries.slice(0, failoverEntriesMax));
  }

  private at(row: number, index: number): number {
    return (index * this.count + row) * 4;
  }

  private entry(row: number, index: number): FailoverEntry {
    const at = this.at(row, index);
    const word = (offset: number): number => this.words[at + offset] as number;
    return { uuidHi: word(0), uuidLo: word(1), seqno: word(2) * 2 ** 32 + word(3) };
  }

  private put(row: number, entries: FailoverEntry[]): void {
    this.lengths[row] = entries.length;
    entries.forEach((entry, index) => {
      const high = Math.floor(entry.seqno / 2 ** 32);
      this.words.set([entry.uuidHi, entry.uuidLo, high, entry.seqno - high * 2 ** 32], this.at(row, index));
    });
  }
}
