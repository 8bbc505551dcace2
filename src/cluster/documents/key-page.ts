// Merges the sorted keys of vbuckets to the first keys of a collection, in the order of their bytes.

export class KeyPage {
  /** Sorted by the last `trim`. */
  private keys: Buffer[] = [];
  private readonly count: number;
  private readonly accepts: (key: Buffer) => boolean;
  /** Once there are enough keys, the last one of the page: later keys are ignored. */
  private last: Buffer | null = null;

  constructor(count: number, accepts: (key: Buffer) => boolean) {
    this.count = count;
    this.accepts = accepts;
  }

  /** Takes keys in order from a reply of GET_KEYS, without the collection ids that they begin with. */
  addKeysOf(reply: Buffer, collectionIdBytes: number): void {
    for (let at = 0; at + 2 <= reply.length; ) {
      const end = at + 2 + reply.readUInt16BE(at);
      const key = reply.subarray(at + 2 + collectionIdBytes, end);
      if (!this.accepts(key) || (this.last !== null && key.compare(this.last) > 0)) return;
      this.keys.push(key);
      at = end;
    }
  }

  /** Drops the keys after the page. */
  trim(): void {
    this.keys.sort(Buffer.compare);
    if (this.keys.length < this.count) return;
    // Copies the keys: a part of a reply would keep the whole reply in memory.
    this.keys = this.keys.slice(0, this.count).map((key) => Buffer.from(key));
    this.last = this.keys.at(-1) ?? null;
  }

  names(skip: number): string[] {
    return this.keys.slice(skip, this.count).map((key) => key.toString());
  }
}
