// A connection between a node and the founder, as messages.

export interface Channel {
  send(message: object): void;
  /** Calls `message` with each message in order, and `closed` once. */
  receive(handler: { message(message: unknown): void; closed(reason: string): void }): void;
  close(): void;
}

/** What a node asks of the founder; the answer carries the same number. */
export type FounderRequest =
  | { id: number; ask: 'head' }
  | { id: number; ask: 'follow' }
  | { id: number; ask: 'read'; key: string }
  | {
      id: number;
      ask: 'write';
      key: string;
      json: string | null;
      writes: readonly string[];
      expectedRevision: number;
    };

/** `feed` messages follow the answer to `follow`; `isFinal`: nothing was changed, and trying again will not help. */
export type FounderReply =
  | { id: number; value: unknown }
  | { id: number; error: string; isFinal: boolean }
  | { feed: 'record'; record: unknown }
  | { feed: 'complete' };
