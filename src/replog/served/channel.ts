// A connection between a node and the founder, as messages.

export interface Channel {
  /** @throws Error for a message that is too large; the connection stays. */
  send(message: object): void;
  /** Calls `message` with each message in order, and `closed` once. */
  receive(handler: { message(message: unknown): void; closed(reason: string): void }): void;
  close(): void;
}

/** A request of a node to the founder; the answer has the same id. */
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

/** Why a node is not served: the cluster removed it, or does not know it at all. */
export type NonMember = 'removed' | 'unknown';

/**
 * `feed` messages follow the answer to `follow`; `isFinal`: nothing was changed, and trying again will not help. Nodes of other
 * versions send the same names, so they stay.
 */
export type FounderReply =
  | { id: number; value: unknown }
  | { id: number; error: string; isFinal: boolean; stranger?: NonMember }
  | { feed: 'record'; record: unknown }
  | { feed: 'complete' };
