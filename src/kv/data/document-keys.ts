// Document keys in one buffer, so that they are sent to another thread or node in one piece. Each key: u16 vb, u16 length of the key, the
// key.

const headBytes = 4;

export interface DocumentKey {
  vb: number;
  key: Buffer;
}

export function encodeKeys(keys: readonly DocumentKey[]): Uint8Array<ArrayBuffer> {
  const bytes = keys.reduce((sum, { key }) => sum + headBytes + key.length, 0);
  const encoded = new Uint8Array(bytes);
  const buffer = Buffer.from(encoded.buffer);
  let at = 0;
  for (const { vb, key } of keys) {
    buffer.writeUInt16BE(vb, at);
    buffer.writeUInt16BE(key.length, at + 2);
    buffer.set(key, at + headBytes);
    at += headBytes + key.length;
  }
  return encoded;
}

export function decodeKeys(encoded: Uint8Array): DocumentKey[] {
  const buffer = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.byteLength);
  const keys: DocumentKey[] = [];
  for (let at = 0; at < buffer.length; ) {
    const end = at + headBytes + buffer.readUInt16BE(at + 2);
    keys.push({ vb: buffer.readUInt16BE(at), key: buffer.subarray(at + headBytes, end) });
    at = end;
  }
  return keys;
}

/** A key above all keys with this prefix. The last byte of a collection's id is below 0x80. */
export function endOfPrefix(prefix: Uint8Array): Buffer {
  const end = Buffer.from(prefix);
  end[end.length - 1] = (end.at(-1) as number) + 1;
  return end;
}
