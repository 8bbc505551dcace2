// A reusable buffer in which commands compose values. Its content is valid only until the command returns.

const keptBytes = 1024 * 1024;

export class Scratch {
  buffer = Buffer.allocUnsafeSlow(4096);

  /** A buffer of at least `bytes`; its previous content is lost. */
  room(bytes: number): Buffer {
    const tooSmall = bytes > this.buffer.length;
    if (tooSmall || (this.buffer.length > keptBytes && bytes <= keptBytes)) {
      this.buffer = Buffer.allocUnsafeSlow(Math.max(4096, 2 ** Math.ceil(Math.log2(bytes + 1))));
    }
    return this.buffer;
  }
}
