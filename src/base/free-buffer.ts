// Frees the memory of a large buffer after its last use, so that the next buffer gets the same pages. The garbage collector counts such
// memory, but runs only once tens of megabytes are unused.

/** The buffer is empty afterwards, and so are all views of it. Small ones share memory with others: they are left to the collector. */
export function freeBuffer({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0);
}
