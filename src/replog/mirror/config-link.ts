// The interface from a node to the servers of a configuration store. A call may fail or be late, a server that is behind may answer it,
// and the servers may still apply a write that failed. The mirrored store hides this from its callers.

/** What a key holds, or that it was deleted. */
export interface StoredRecord {
  readonly key: string;
  /** Null: deleted. */
  readonly json: string | null;
  /** The revision that this write gave the whole store. */
  readonly revision: number;
  /** The ids of this write and of those before it, the newest first; null when the servers no longer know them. */
  readonly writes: readonly string[] | null;
}

export interface StoreHead {
  /** The id of the store: a store that replaces it has another one. */
  readonly identity: string;
  /** The revision of the newest change. */
  readonly revision: number;
  /** Rises when another node takes the store over from a founder that is lost. Absent: 1. */
  readonly epoch?: number;
  /** The node that stores the configuration; absent where no single node does, and in what older versions wrote. */
  readonly founder?: string;
}

/** The records of a store at one revision, or those that changed up to it. */
export interface StoreContent {
  readonly revision: number;
  readonly records: readonly StoredRecord[];
}

/** Who stores the configuration, and since which epoch; not the term of the orchestrator's lease. */
export type StoreTerm = Pick<StoreHead, 'epoch' | 'founder'>;

/** True if the candidate is of a later founder. Of two that took over in the same epoch, all nodes follow the one with the lower id. */
export function supersedes(candidate: StoreTerm, current: StoreTerm): boolean {
  const { epoch = 1, founder } = candidate;
  if (epoch !== (current.epoch ?? 1)) return epoch > (current.epoch ?? 1);
  return founder !== undefined && current.founder !== undefined && founder < current.founder;
}

export interface RecordFeed {
  /** First for each key its newest record, in the order of revisions; after `complete` each change, in order and once. */
  changed(record: StoredRecord): void;
  complete(): void;
  /** The feed ended. */
  lost(reason: string): void;
}

export interface ConfigLink {
  /** For messages, such as "NATS at 127.0.0.1:4222". */
  readonly name: string;
  /** The id of the servers' list of write ids (`writes`); it changes when they have lost the ids of earlier writes. */
  readonly writeHistoryId: string;
  /** True: a deleted key has a record. False: an absent key was deleted. */
  readonly keepsDeletions: boolean;
  /** @throws FinalError where trying again will not help. */
  head(): Promise<StoreHead>;
  follow(feed: RecordFeed): Promise<{ stop(): void }>;
  /** The answer may be older than that of an earlier call. */
  read(key: string): Promise<StoredRecord | null>;
  /**
   * Resolves with the new revision, or with null when the servers refuse it, for example because the key is not at this revision. They
   * may still apply it later.
   * @throws FinalError or NotSentError when nothing was written; after any other error the outcome is unknown.
   */
  write(record: Omit<StoredRecord, 'revision'>, expectedRevision: number): Promise<number | null>;
  /** As `write`, but only if the newest change of the whole store has the revision `newest`. Absent for stores that never end. */
  writeLast?(record: Omit<StoredRecord, 'revision'>, newest: number): Promise<number | null>;
  /**
   * Closes a connection on which a request failed: the next call opens another one. TCP may take a quarter of an hour to notice that the other machine is
   * gone, and of several servers another one may answer.
   */
  disconnect(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A failure that lasts until an operator changes something. */
export class FinalError extends Error {
  override readonly name = 'FinalError';
}

/** There is no connection, so the request was not sent. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}
