// Where a `CutWriter` has the memory for the cuts that it encodes.

/** From this size, `drain` returns the writer's buffer itself if the cuts fill nearly all of it: copying 20 MB takes longer than a turn. */
export const handedOverBytes = 1024 * 1024;

export interface CutMemory {
  /** A buffer of at least this size. */
  allocate(bytes: number): Buffer;
  /** Whether the writer hands over the buffer, of which cuts fill the first `bytes`; otherwise it hands over a copy of them. */
  isHandedOver(buffer: Buffer, bytes: number): boolean;
  /** Takes back a buffer, or what was handed over of it, that nothing uses any more. */
  release(buffer: Uint8Array): void;
}

/** Memory of the process, which may be transferred to another thread. */
export const ownMemory: CutMemory = {
  allocate: (bytes) => Buffer.allocUnsafeSlow(bytes),
  isHandedOver: (buffer, bytes) => bytes >= handedOverBytes && buffer.length - bytes <= bytes / 8,
  release({ buffer }) {
    // Frees it at once: the garbage collector runs late in threads with few objects.
    if (buffer instanceof ArrayBuffer && !buffer.detached && buffer.byteLength > 0) buffer.transfer(0);
  },
};
