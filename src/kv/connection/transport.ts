// The socket of a connection, as the connection uses it.

export interface Transport {
  /** Sends the first `length` bytes; returns true if the caller may reuse the memory, false while it is still being sent. */
  write(bytes: Buffer, length: number): boolean;
  /** Bytes that the operating system has not accepted yet. */
  readonly unsentBytes: number;
  /** Called when the client has logged in. */
  markAuthenticated(): void;
  /** Stop and restart reading. */
  pause(): void;
  resume(): void;
  /** Sends the pending bytes, then closes. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}
