// Memory to compose values in, reused by every command of the thread; nothing in it outlives its synchronous stretch.

const keptBytes = 1024 * 1024;

export class Scratch {
  buffer = Buffer.allocUnsafeSlow(4096);

  /** Room for `bytes`; what was there before is gone. */
  room(bytes: number): Buffer {
    const tooSmall = bytes > this.buffer.length;
    if (tooSmall || (this.buffer.length > keptBytes && bytes <= keptBytes)) {
      this.buffer = Buffer.allocUnsafeSlow(Math.max(4096, 2 ** Math.ceil(Math.log2(bytes + 1))));
    }
    return this.buffer;
  }
}
