// The way from a node to the servers of a configuration store. Calls may fail, be late, and be answered by a server that is behind; a
// write that failed may be made later. What that means for callers of the store is for the mirrored store to find out.

/** What a key holds, or that it was deleted. */
export interface StoredRecord {
  readonly key: string;
  /** Null: deleted. */
  readonly json: string | null;
  /** Of the whole store. */
  readonly revision: number;
  /** The ids of this write and of those before it, the newest first; null when the servers no longer know them. */
  readonly writes: readonly string[] | null;
}

export interface StoreHead {
  /** Names the store: another one in its place has another name. */
  readonly identity: string;
  /** Of the newest change. */
  readonly revision: number;
}

export interface RecordFeed {
  /** First for each key its newest record, in the order of revisions; after `complete` each change, in order and once. */
  changed(record: StoredRecord): void;
  complete(): void;
  /** Nothing more comes. */
  lost(reason: string): void;
}

export interface ConfigLink {
  /** For texts: "NATS at 127.0.0.1:4222". */
  readonly name: string;
  /** Of the records' `writes`: another text than before means that the servers forgot those of earlier. */
  readonly memory: string;
  /** Deleted keys have a record; false: what is absent was deleted. */
  readonly keepsDeletions: boolean;
  /** @throws FinalError where trying again will not help. */
  head(): Promise<StoreHead>;
  follow(feed: RecordFeed): Promise<{ stop(): void }>;
  /** May be older than what was read before. */
  read(key: string): Promise<StoredRecord | null>;
  /**
   * Resolves with the new revision, or with null when the servers refuse it: the key is not at this revision, or something else is
   * in the way. That is no proof that the write will not be made later.
   * @throws FinalError or NotSentError when it was not made; any other error: unknown.
   */
  write(record: Omit<StoredRecord, 'revision'>, expectedRevision: number): Promise<number | null>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Something that an operator must change. */
export class FinalError extends Error {
  override readonly name = 'FinalError';
}

/** There is no connection. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}
