// Encodes a request into a buffer of output, and sends what the buffer has.
import { freeBuffer } from '#base/free-buffer.ts';
import { writeU32 } from '#wire/bytes.ts';
import { headerBytes, Magic } from '#wire/frame.ts';
import type { Output, RequestParts } from '#wire/output.ts';

const nothing = Buffer.alloc(0);

export function putRequest(output: Output, parts: RequestParts, opaque: number): void {
  const { framing = nothing, extras = nothing, key = nothing, value = nothing } = parts;
  const bodyBytes = framing.length + extras.length + key.length + value.length;
  const start = output.reserve(headerBytes + bodyBytes);
  const { buffer } = output;
  const isFramed = framing.length > 0;
  buffer[start] = parts.magic ?? (isFramed ? Magic.altRequest : Magic.request);
  buffer[start + 1] = parts.opcode;
  buffer[start + 2] = isFramed ? framing.length : key.length >> 8;
  buffer[start + 3] = key.length;
  buffer[start + 4] = extras.length;
  buffer[start + 5] = parts.datatype ?? 0;
  const vb = parts.vb ?? 0;
  buffer[start + 6] = vb >> 8;
  buffer[start + 7] = vb;
  writeU32(buffer, start + 8, bodyBytes);
  writeU32(buffer, start + 12, opaque);
  writeU32(buffer, start + 16, parts.casHi ?? 0);
  writeU32(buffer, start + 20, parts.casLo ?? 0);
  let end = start + headerBytes;
  for (const part of [framing, extras, key, value]) {
    buffer.set(part, end);
    end += part.length;
  }
  output.end = end;
}

/** Sends what was put into the buffer, and empties it. */
export function writeOutput(
  output: Output,
  socket: { write(bytes: Buffer, written: () => void): unknown },
): void {
  const bytes = Buffer.from(output.buffer.subarray(0, output.end));
  socket.write(bytes, () => freeBuffer(bytes));
  output.clear(false);
}
