// Large buffers that are used for a moment. The collector counts their memory, but runs only once tens of megabytes are unused: whoever
// knows the last use of a buffer gives its memory back at once, and the next one gets the same pages.

/** The buffer is empty afterwards, and so are all views of it. Small ones share memory with others: they are left to the collector. */
export function freeBuffer({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0);
}
