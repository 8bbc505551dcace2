// Xattr values that are any bytes: stored as a JSON string, base64 behind a marker that other servers and clients
// know too.

const marker = '"cb-content-base64-encoded:';

/** The JSON string that stands for the bytes. */
export function encodeBinary(bytes: Buffer): Buffer {
  return Buffer.from(`${marker}${bytes.toString('base64')}"`);
}

/** The bytes that a JSON value stands for, null when it is not such a string. */
export function decodeBinary(json: Buffer): Buffer | null {
  const text = json.toString('latin1');
  if (!text.startsWith(marker) || !text.endsWith('"')) return null;
  const encoded = text.slice(marker.length, -1);
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes : null;
}
