// Reads a zip file by its central directory, and checks every checksum.
import assert from 'node:assert/strict';
import { crc32, inflateRawSync } from 'node:zlib';

export function unzip(file: Buffer): Map<string, string> {
  const end = file.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  assert.ok(end >= 0, 'the file has no end record of a zip archive');
  let at = file.readUInt32LE(end + 16);
  const found = new Map<string, string>();
  for (let left = file.readUInt16LE(end + 10); left > 0; left--) {
    assert.equal(file.readUInt32LE(at), 0x02014b50, 'no entry of the central directory');
    const [crc, packed, bytes] = [16, 20, 24].map((offset) => file.readUInt32LE(at + offset)) as number[];
    const nameBytes = file.readUInt16LE(at + 28);
    const name = file.toString('utf8', at + 46, at + 46 + nameBytes);
    const local = file.readUInt32LE(at + 42);
    assert.equal(file.readUInt32LE(local), 0x04034b50, 'no header of a file');
    const start = local + 30 + file.readUInt16LE(local + 26) + file.readUInt16LE(local + 28);
    const content = inflateRawSync(file.subarray(start, start + (packed as number)));
    assert.deepEqual([crc32(content), content.length], [crc, bytes], name);
    found.set(name, content.toString());
    at += 46 + nameBytes;
  }
  return found;
}
