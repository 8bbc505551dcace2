// Binary xattr values: stored as a JSON string of base64 with a prefix that published servers and clients use too.

const marker = '"cb-content-base64-encoded:';

/** Encodes bytes as a JSON string. */
export function encodeBinary(bytes: Buffer): Buffer {
  return Buffer.from(`${marker}${bytes.toString('base64')}"`);
}

/** Decodes such a JSON string; null for any other JSON value. */
export function decodeBinary(json: Buffer): Buffer | null {
  const text = json.toString('latin1');
  if (!text.startsWith(marker) || !text.endsWith('"')) return null;
  const encoded = text.slice(marker.length, -1);
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes : null;
}
