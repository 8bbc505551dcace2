// Marks documents as used that services have read in memory, so that eviction keeps them as it keeps what clients read.
import { keyHeadBytes, type UsedDocuments } from '#wire/document-batch.ts';
import type { Directory } from '../served/directory.ts';
import { emptyPosition } from '../vbucket/item-position.ts';

const position = emptyPosition();

export function markUsed({ buckets }: Directory, { bucket, keys }: UsedDocuments): void {
  const memory = buckets.get(bucket)?.engine?.memory;
  if (memory === undefined) return;
  // Without it the data thread would keep the lock of the memory from one turn to the next, and the service could not read.
  memory.heap.lock.noteReader();
  const buffer = Buffer.from(keys.buffer, keys.byteOffset, keys.length);
  for (let at = 0; at < buffer.length; ) {
    const keyStart = at + keyHeadBytes;
    const keyEnd = keyStart + buffer.readUInt16BE(at + 2);
    const hash = memory.hash(buffer, keyStart, keyEnd);
    const address = memory.locate(position, buffer.readUInt16BE(at), hash, buffer, keyStart, keyEnd);
    if (address !== 0) memory.items.noteUse(address);
    at = keyEnd;
  }
}
