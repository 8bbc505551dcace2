// What a connection needs of its socket.

export interface Transport {
  /**
   * Sends the first `length` bytes; true when they are taken and their memory may be used again, false when it must be
   * left alone.
   */
  write(bytes: Buffer, length: number): boolean;
  /** Bytes not yet handed to the operating system. */
  readonly unsentBytes: number;
  /** The client has shown who it is. */
  known(): void;
  /** Stops and starts reading. */
  pause(): void;
  resume(): void;
  /** Sends what is left, then closes. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}
