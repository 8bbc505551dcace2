// Limits of each client connection: sizes, memory and times.

export const connectionLimits = {
  /** Largest frame of an unauthenticated client. */
  unauthenticatedFrameBytesMax: 64 * 1024,
  /** Frames above this size are read only once memory for the whole frame is reserved. */
  largeFrameBytes: 64 * 1024,
  /** Memory for large frames that are arriving, or wait for the disk or for heavy work. */
  input: { perUser: 128 * 1024 * 1024, total: 512 * 1024 * 1024 },
  /** Time for one frame to arrive, and to wait for memory. */
  frameMs: 120_000,
  /** The output is sent when it reaches this size. */
  flushBytes: 256 * 1024,
  /** Above this many unsent bytes the connection stops reading. */
  unsentBytes: 4 * 1024 * 1024,
  /** Time to authenticate. */
  authenticationMs: 30_000,
  /** Time to accept the last replies after the connection began to close. */
  lingerMs: 5_000,
  /** Time to accept any bytes while the connection has stopped reading. */
  stalledMs: 120_000,
  /** Time to send or accept any bytes while the connection has memory for large frames reserved for which another request waits. */
  passiveMs: 15_000,
} as const;
