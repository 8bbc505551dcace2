// Framing extras: optional fields of requests and responses between the header and the extras.
import { Status } from './status.ts';

export const RequestFrame = {
  barrier: 0,
  durability: 1,
  streamId: 2,
  impersonate: 4,
  preserveTtl: 5,
  extraPrivilege: 6,
  impersonateToken: 7,
} as const;

/** The decoded framing extras of one request. The object is reused for each request. */
export interface Framing {
  barrier: boolean;
  /** 1 to 3, 0 if absent. */
  durabilityLevel: number;
  /** 0 if absent. */
  durabilityTimeoutMs: number;
  preserveTtl: boolean;
  /** The id of the stream that the request names, 0 if absent. */
  streamId: number;
  /** The request asks to run as another user or with further privileges, which no client may. */
  impersonates: boolean;
}

export const emptyFraming = (): Framing => ({
  barrier: false,
  durabilityLevel: 0,
  durabilityTimeoutMs: 0,
  preserveTtl: false,
  streamId: 0,
  impersonates: false,
});

export function clearFraming(framing: Framing): void {
  framing.barrier = false;
  framing.durabilityLevel = 0;
  framing.durabilityTimeoutMs = 0;
  framing.preserveTtl = false;
  framing.streamId = 0;
  framing.impersonates = false;
}

/** Decodes all framing extras of a request into `framing`. */
export function readFraming(buffer: Buffer, start: number, end: number, framing: Framing): Status {
  clearFraming(framing);
  let at = start;
  while (at < end) {
    const head = buffer[at++] as number;
    let id = head >> 4;
    let length = head & 15;
    if (id === 15) {
      if (at >= end) return Status.invalidArguments;
      id += buffer[at++] as number;
    }
    if (length === 15) {
      if (at >= end) return Status.invalidArguments;
      length += buffer[at++] as number;
    }
    if (at + length > end) return Status.invalidArguments;
    const status = readOne(buffer, at, id, length, framing);
    if (status !== Status.success) return status;
    at += length;
  }
  return Status.success;
}

function readOne(buffer: Buffer, at: number, id: number, length: number, framing: Framing): Status {
  switch (id) {
    case RequestFrame.barrier:
      framing.barrier = true;
      return length === 0 ? Status.success : Status.invalidArguments;
    case RequestFrame.durability:
      return readDurability(buffer, at, length, framing);
    case RequestFrame.streamId:
      if (length !== 2) return Status.invalidArguments;
      framing.streamId = buffer.readUInt16BE(at);
      return framing.streamId === 0 ? Status.streamIdInvalid : Status.success;
    case RequestFrame.preserveTtl:
      framing.preserveTtl = true;
      return length === 0 ? Status.success : Status.invalidArguments;
    case RequestFrame.impersonate:
    case RequestFrame.extraPrivilege:
    case RequestFrame.impersonateToken:
      framing.impersonates = true;
      return Status.success;
    default:
      return Status.unknownFrameInfo;
  }
}

function readDurability(buffer: Buffer, at: number, length: number, framing: Framing): Status {
  if (length !== 1 && length !== 3) return Status.invalidArguments;
  const level = buffer[at] as number;
  if (level < 1 || level > 3) return Status.durabilityInvalidLevel;
  framing.durabilityLevel = level;
  if (length === 1) return Status.success;
  const timeoutMs = buffer.readUInt16BE(at + 1);
  framing.durabilityTimeoutMs = timeoutMs;
  return timeoutMs === 0 || timeoutMs === 0xffff ? Status.invalidArguments : Status.success;
}

/** Size of the duration frame, the only framing extra of responses. */
export const durationFrameBytes = 3;

/** Encodes the server duration in 16 bits on the protocol's power scale: up to two minutes, precise for short durations. */
export function encodeDuration(microseconds: number): number {
  if (microseconds <= 0) return 0;
  return Math.min(0xffff, Math.round((microseconds * 2) ** (1 / 1.74)));
}
