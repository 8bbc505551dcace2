// Collects replies in one growing buffer, so that the connection sends them with one write.
import { writeU16, writeU32 } from './bytes.ts';
import { headerBytes, Magic } from './frame.ts';
import { durationFrameBytes } from './framing.ts';

/** Bytes that are sent from the memory where they are, after the first `at` bytes of the buffer. */
export interface Attachment {
  at: number;
  bytes: Buffer;
}

/** A part of an output; `at` of its attachments counts from its start. */
export interface Written {
  readonly bytes: Buffer;
  readonly attachments: readonly Attachment[];
}

/** The longest key in a reply with a duration frame: its length has one byte. */
const keyBytesWithDuration = 255;

export class Output {
  /** Replaced when it grows: read it after `reserve` and `reply`, not among the arguments of a call with them. */
  buffer: Buffer;
  end = 0;
  attachments: Attachment[] = [];
  private attachedBytes = 0;
  private readonly initialBytes: number;

  constructor(initialBytes = 64 * 1024) {
    this.initialBytes = initialBytes;
    this.buffer = Buffer.allocUnsafeSlow(initialBytes);
  }

  /** Bytes to send, those of attachments too. */
  get bytes(): number {
    return this.end + this.attachedBytes;
  }

  /** Sends these bytes next, without a copy: they must not change any more. */
  attach(bytes: Buffer): void {
    this.attachments.push({ at: this.end, bytes });
    this.attachedBytes += bytes.length;
  }

  /** Copies the bytes after those written before. */
  append(bytes: Buffer): void {
    const at = this.reserve(bytes.length);
    bytes.copy(this.buffer, at);
    this.end += bytes.length;
  }

  /** Removes what was written from here on. A reply begins with a header, so its attachments are after its start. */
  rewind(end: number): void {
    this.end = end;
    while (this.attachments.length > 0 && (this.attachments.at(-1) as Attachment).at > end)
      this.attachedBytes -= (this.attachments.pop() as Attachment).bytes.length;
  }

  /** Removes what was written from `start` on, as `rewind` does, and returns it. */
  removeFrom(start: number): Written {
    const bytes = Buffer.from(this.buffer.subarray(start, this.end));
    const taken = this.attachments.filter(({ at }) => at > start);
    this.rewind(start);
    return { bytes, attachments: taken.map((one) => ({ at: one.at - start, bytes: one.bytes })) };
  }

  /** Writes again what `removeFrom` has returned. */
  put({ bytes, attachments }: Written): void {
    let from = 0;
    for (const { at, bytes: attached } of attachments) {
      this.append(bytes.subarray(from, at));
      this.attach(attached);
      from = at;
    }
    this.append(bytes.subarray(from));
  }

  /** Ensures room for `bytes` and returns its start. The caller advances `end` by what it wrote. */
  reserve(bytes: number): number {
    if (this.end + bytes > this.buffer.length) this.grow(bytes);
    return this.end;
  }

  /**
   * Writes the header of a reply and reserves its body; returns the start of the extras, which key and value follow.
   * `duration`: as `encodeDuration` returns it; a negative one and a long key omit the duration frame. The last `attachedBytes` of the value are attached by the caller.
   */
  reply(
    opcode: number,
    opaque: number,
    status: number,
    duration: number,
    extrasBytes: number,
    keyBytes: number,
    valueBytes: number,
    datatype: number,
    casHi: number,
    casLo: number,
    attachedBytes = 0,
  ): number {
    const framingBytes = duration < 0 || keyBytes > keyBytesWithDuration ? 0 : durationFrameBytes;
    const bodyBytes = framingBytes + extrasBytes + keyBytes + valueBytes;
    const at = this.reserve(headerBytes + bodyBytes - attachedBytes);
    const { buffer } = this;
    if (framingBytes === 0) {
      buffer[at] = Magic.response;
      buffer[at + 2] = keyBytes >> 8;
    } else {
      buffer[at] = Magic.altResponse;
      buffer[at + 2] = framingBytes;
      // Frame type 0, the server duration, with two bytes.
      buffer[at + 24] = 0x02;
      writeU16(buffer, at + durationAt, duration);
    }
    buffer[at + 1] = opcode;
    buffer[at + 3] = keyBytes;
    buffer[at + 4] = extrasBytes;
    buffer[at + 5] = datatype;
    buffer[at + 6] = status >> 8;
    buffer[at + 7] = status;
    writeU32(buffer, at + 8, bodyBytes);
    writeU32(buffer, at + 12, opaque);
    writeU32(buffer, at + 16, casHi);
    writeU32(buffer, at + 20, casLo);
    this.end = at + headerBytes + bodyBytes - attachedBytes;
    return at + headerBytes + framingBytes;
  }

  /** Empties the buffer. One that is still being sent, or has grown large, is replaced. */
  clear(stillInUse: boolean): void {
    this.end = 0;
    if (this.attachments.length > 0) this.attachments = [];
    this.attachedBytes = 0;
    if (stillInUse || this.buffer.length > this.initialBytes * 16) {
      this.buffer = Buffer.allocUnsafeSlow(this.initialBytes);
    }
  }

  private grow(bytes: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.end + bytes));
    this.buffer.copy(grown, 0, 0, this.end);
    this.buffer = grown;
  }
}

/** Where a reply with a duration frame has its duration. */
const durationAt = headerBytes + 1;

/** Changes the duration in an encoded reply, if the reply has one. */
export function setDuration(reply: Buffer, duration: number): void {
  if (reply[0] === Magic.altResponse) writeU16(reply, durationAt, duration);
}

/** Fields of a request frame; omitted fields are zero or empty. */
export interface RequestParts {
  opcode: number;
  opaque?: number;
  vb?: number;
  datatype?: number;
  casHi?: number;
  casLo?: number;
  framing?: Uint8Array;
  extras?: Uint8Array;
  key?: Uint8Array;
  value?: Uint8Array;
  magic?: number;
}

const noBytes = new Uint8Array(0);

/** Encodes a request frame. It allocates: for clients and tests, not for the data path. */
export function encodeRequest(parts: RequestParts): Buffer {
  const { framing = noBytes, extras = noBytes, key = noBytes, value = noBytes } = parts;
  const head = Buffer.alloc(headerBytes);
  head[0] = parts.magic ?? (framing.length > 0 ? Magic.altRequest : Magic.request);
  head[1] = parts.opcode;
  if (head[0] === Magic.altRequest) {
    head[2] = framing.length;
    head[3] = key.length;
  } else {
    head.writeUInt16BE(key.length, 2);
  }
  head[4] = extras.length;
  head[5] = parts.datatype ?? 0;
  head.writeUInt16BE(parts.vb ?? 0, 6);
  head.writeUInt32BE(framing.length + extras.length + key.length + value.length, 8);
  head.writeUInt32BE(parts.opaque ?? 0, 12);
  head.writeUInt32BE(parts.casHi ?? 0, 16);
  head.writeUInt32BE(parts.casLo ?? 0, 20);
  return Buffer.concat([head, framing, extras, key, value]);
}
