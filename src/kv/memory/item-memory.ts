// The memory of one large item: its header, key and value, alone in one buffer. A value can be put there before it is stored, by a thread
// that has time for the copy and for the pages that the system maps for it; the heap then adopts the memory.
import { unitBytes } from './size-classes.ts';

const stepUnits = 256;

/** Size of the memory of a large item, in units. */
export const largeUnits = (units: number): number => Math.ceil(units / stepUnits) * stepUnits;

/** Size of the memory of a large item of so many bytes with header and key. */
export const itemMemoryBytes = (itemBytes: number): number =>
  largeUnits(Math.ceil(itemBytes / unitBytes)) * unitBytes;

/**
 * Growable memory comes from the operating system and returns to it. Memory that cannot grow comes from the process's
 * allocator, which keeps freed buffers of this size for good. The system may refuse: then the bucket is full, no error is raised.
 */
export function newMemory(bytes: number): SharedArrayBuffer | null {
  try {
    return new SharedArrayBuffer(bytes, { maxByteLength: bytes });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Copies the parts of a value behind `room` for header and key; null when the system gives no memory. */
export function inItemMemory(parts: readonly Buffer[], room: number): Buffer | null {
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  const memory = newMemory(itemMemoryBytes(room + bytes));
  if (memory === null) return null;
  const value = Buffer.from(memory, room, bytes);
  let at = 0;
  for (const part of parts) at += part.copy(value, at);
  return value;
}
