// The key of a primary index: the document's id, so that it can be scanned by bounds like any other key.
import { KeyWriter } from './key-writer.ts';

/** Ids have at most 250 bytes. Escaping doubles a byte, and a byte that is not UTF-8 becomes the three bytes of U+FFFD. */
const primaryKeyBytesMax = 1_000;
const writer = new KeyWriter(primaryKeyBytesMax);

/** `id` is UTF-8. */
export function primaryKey(id: Uint8Array): Buffer {
  writer.truncate();
  writer.write(Buffer.from(id.buffer, id.byteOffset, id.length).toString());
  return writer.copy();
}
