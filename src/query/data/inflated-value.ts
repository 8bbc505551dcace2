// Values that the data service stores compressed.
import { DataPortError } from '#client/data-port-error.ts';
import { inflatedBytesMax } from '#client/fetched-document.ts';
import { snappyInflate } from '#wire/snappy.ts';

export function inflatedValue(bytes: Buffer, start: number, end: number): Buffer {
  if (start === end) return bytes.subarray(start, end);
  const value = snappyInflate(bytes, start, end, inflatedBytesMax);
  if (value === null) throw new DataPortError('the data service sent a value that cannot be inflated');
  return value;
}
