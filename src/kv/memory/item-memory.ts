// The memory of one large item: its header, key and value, alone in one buffer. Another thread can put a value
// there before it is stored, so that the data thread spends no time on the copy and on new pages; the heap then adopts the memory.
import { pagedMemory, reportToCollector } from '#base/shared-memory.ts';
import { unitBytes } from './size-classes.ts';

/** Sizes of large items are multiples of this. */
const stepUnits = 256;

/** Size of the memory of a large item, in units. */
export const largeUnits = (units: number): number => Math.ceil(units / stepUnits) * stepUnits;

/** Size of the memory of a large item that has this number of bytes with header and key. */
export const itemMemoryBytes = (itemBytes: number): number =>
  largeUnits(Math.ceil(itemBytes / unitBytes)) * unitBytes;

/** Memory of a large item; null when the system gives none, which callers treat as a full bucket. */
export function largeMemory(bytes: number): SharedArrayBuffer | null {
  const memory = pagedMemory(bytes);
  if (memory !== null) reportToCollector(memory);
  return memory;
}

/** Copies the parts of a value after `room` for header and key; null when the system gives no memory. */
export function inItemMemory(parts: readonly Buffer[], room: number): Buffer | null {
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  const memory = largeMemory(itemMemoryBytes(room + bytes));
  if (memory === null) return null;
  const value = Buffer.from(memory, room, bytes);
  let at = 0;
  for (const part of parts) at += part.copy(value, at);
  return value;
}
