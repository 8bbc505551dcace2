// What the data thread and the thread of heavy work send each other. Buffers arrive as Uint8Arrays.
import { reportToCollector } from '#base/shared-memory.ts';
import type { HeavyResult } from '../jobs.ts';

export type HeavyReply = { result: HeavyResult } | { failure: string };

/** The same message with its bytes as buffers again. */
export function withBuffers<T>(message: T): T {
  if (message instanceof Uint8Array) {
    const { buffer, byteOffset, byteLength } = message;
    // Each thread's garbage collector counts shared memory that the thread keeps only if it is reported.
    if (buffer instanceof SharedArrayBuffer) reportToCollector(buffer);
    return Buffer.from(buffer, byteOffset, byteLength) as unknown as T;
  }
  if (Array.isArray(message)) return message.map(withBuffers) as unknown as T;
  if (typeof message !== 'object' || message === null) return message;
  return Object.fromEntries(Object.entries(message).map(([name, value]) => [name, withBuffers(value)])) as T;
}

/** More than the size of Node's pool, whose memory many small buffers share and which cannot be transferred. */
const transferredBytesMin = 256 * 1024;

/** The large buffers of a message, to be transferred instead of copied. */
export function transferableBuffers(message: unknown, found: ArrayBuffer[] = []): ArrayBuffer[] {
  if (message instanceof Uint8Array) {
    const { buffer } = message;
    if (buffer instanceof ArrayBuffer && buffer.byteLength >= transferredBytesMin && !found.includes(buffer))
      found.push(buffer);
  } else if (typeof message === 'object' && message !== null) {
    for (const value of Object.values(message)) transferableBuffers(value, found);
  }
  return found;
}
