// Keys of documents that this thread has read and that are not marked as used. Only the data thread may mark them: it gets the keys later,
// many in one message.

/** The keys of one read, and those of some short reads before it. */
const bytesMax = 64 << 10;
/** More keys do not wait for others. */
const enoughBytes = 16 << 10;

export class UnmarkedKeys {
  private bytes = Buffer.alloc(0);
  private end = 0;

  get isEmpty(): boolean {
    return this.end === 0;
  }

  /** Whether the keys should be sent without waiting for more. */
  get isDue(): boolean {
    return this.end >= enoughBytes;
  }

  /** Adds `keys[start, end)`, which is one key with its head, as a KeysRequest has it; false: there is no room. */
  add(keys: Buffer, start: number, end: number): boolean {
    if (this.end + end - start > bytesMax) return false;
    if (this.bytes.length === 0) this.bytes = Buffer.allocUnsafeSlow(bytesMax);
    this.end += keys.copy(this.bytes, this.end, start, end);
    return true;
  }

  /** Returns a copy of the keys, and forgets them. */
  drain(): Uint8Array {
    const keys = new Uint8Array(this.bytes.subarray(0, this.end));
    this.end = 0;
    return keys;
  }
}
