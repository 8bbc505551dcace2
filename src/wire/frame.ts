// Frames of the binary protocol (public document: kv_engine docs/BinaryProtocol.md): finds start, end and the offsets of the
// parts of a frame in a buffer, without copying.

import { readU32 } from './bytes.ts';

export const headerBytes = 24;
/** The connection is closed on a longer frame. */
export const frameBytesMax = 30 * 1024 * 1024;

export const Magic = {
  request: 0x80,
  response: 0x81,
  /** Request with framing extras; `altResponse` is the response. */
  altRequest: 0x08,
  altResponse: 0x18,
  serverRequest: 0x82,
  clientResponse: 0x83,
} as const;

/** One frame as offsets into `buffer`. The object is reused: `readFrame` overwrites every field. */
export interface Frame {
  buffer: Buffer;
  start: number;
  end: number;
  magic: number;
  opcode: number;
  datatype: number;
  /** The vbucket id of a request. Of a response these bytes are the status: read it with `responseStatus`. */
  vb: number;
  opaque: number;
  casHi: number;
  casLo: number;
  framingStart: number;
  extrasStart: number;
  keyStart: number;
  /** End of the key and start of the value, which ends at `end`. */
  valueStart: number;
  /** Size of the whole frame once its header has arrived; before that the size of a header. */
  needed: number;
}

export const emptyFrame = (): Frame => ({
  buffer: Buffer.alloc(0),
  start: 0,
  end: 0,
  magic: 0,
  opcode: 0,
  datatype: 0,
  vb: 0,
  opaque: 0,
  casHi: 0,
  casLo: 0,
  framingStart: 0,
  extrasStart: 0,
  keyStart: 0,
  valueStart: 0,
  needed: headerBytes,
});

/** The header of a response has its status where that of a request has the vbucket id. */
export const responseStatus = (frame: Frame): number => frame.vb;

/** Result of `readFrame`: a whole frame, more bytes needed, or an error. */
export const FrameResult = { whole: 1, needMore: 0, malformed: -1, tooLarge: -2 } as const;
export type FrameResult = (typeof FrameResult)[keyof typeof FrameResult];

/** Reads the frame at `at`. Of a malformed frame the header fields are set, so that the server can answer it. */
export function readFrame(
  buffer: Buffer,
  at: number,
  end: number,
  frame: Frame,
  bytesMax: number,
): FrameResult {
  frame.needed = headerBytes;
  if (end - at < headerBytes) return FrameResult.needMore;
  const magic = buffer[at] as number;
  const bodyBytes = readU32(buffer, at + 8);
  let framingBytes = 0;
  let keyBytes = ((buffer[at + 2] as number) << 8) | (buffer[at + 3] as number);
  if (magic === Magic.altRequest || magic === Magic.altResponse) {
    framingBytes = buffer[at + 2] as number;
    keyBytes = buffer[at + 3] as number;
  } else if (!isPlainMagic(magic)) {
    readHeader(buffer, at, frame);
    return FrameResult.malformed;
  }
  const total = headerBytes + bodyBytes;
  const extrasBytes = buffer[at + 4] as number;
  if (total > bytesMax || framingBytes + extrasBytes + keyBytes > bodyBytes) {
    readHeader(buffer, at, frame);
    return total > bytesMax ? FrameResult.tooLarge : FrameResult.malformed;
  }
  frame.needed = total;
  if (end - at < total) return FrameResult.needMore;
  readHeader(buffer, at, frame);
  frame.end = at + total;
  frame.framingStart = at + headerBytes;
  frame.extrasStart = frame.framingStart + framingBytes;
  frame.keyStart = frame.extrasStart + extrasBytes;
  frame.valueStart = frame.keyStart + keyBytes;
  return FrameResult.whole;
}

const isPlainMagic = (magic: number): boolean => magic >= Magic.request && magic <= Magic.clientResponse;

function readHeader(buffer: Buffer, at: number, frame: Frame): void {
  frame.buffer = buffer;
  frame.start = at;
  frame.end = at + headerBytes;
  frame.magic = buffer[at] as number;
  frame.opcode = buffer[at + 1] as number;
  frame.datatype = buffer[at + 5] as number;
  frame.vb = ((buffer[at + 6] as number) << 8) | (buffer[at + 7] as number);
  frame.opaque = readU32(buffer, at + 12);
  frame.casHi = readU32(buffer, at + 16);
  frame.casLo = readU32(buffer, at + 20);
}
