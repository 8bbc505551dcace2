// Reads and writes documents with their transaction attributes over the data port.
import { deferred } from '#base/deferred.ts';
import type { BucketClient, DurabilityLevel, StoreReply, StoreRequest } from '#client/bucket-client.ts';
import { StatusError, UnsentError } from '#client/data-port-error.ts';
import type { PathRead } from '#client/subdoc.ts';
import { isTransactionRecordKey } from '#client/transaction-record.ts';
import type { Clock, Timer } from '#ports/clock.ts';
import { atMost } from '#ports/within.ts';
import { type Keyspace, type KeyspaceName, keyspaceText } from '#sqlpp/datastore/keyspace.ts';
import { sqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import { SubdocMultiLookup } from '#wire/commands/subdocument.ts';
import { Status } from '#wire/status.ts';
import { DocFlag, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import type { BucketClients } from '../data/bucket-clients.ts';
import { dataFailure } from '../data/data-failure.ts';
import type { BucketState, Keyspaces } from '../data/keyspaces.ts';
import { retryTemporary, retryWrites } from '../data/temporary-failures.ts';
import { type DocumentAttribute, objectOf, type TxnAttribute, txnAttributeOf } from './attempt-json.ts';

/** A document with its transaction attributes; it may be a deleted one that has attributes. */
export interface LinkedDocument {
  readonly cas: bigint;
  readonly isDeleted: boolean;
  readonly txn: TxnAttribute | undefined;
  /** JSON text of the staged body. */
  readonly staged: Buffer | undefined;
  readonly attribute: DocumentAttribute;
}

export interface DataLimits {
  readonly durability: DurabilityLevel;
  readonly kvTimeoutMs: number;
}

const linkReads: readonly PathRead[] = ['txn', 'txn.op.stgd', '$document'].map((path) => ({
  opcode: SubdocOpcode.get,
  flags: PathFlag.xattr,
  path,
}));

export class TransactionData {
  private readonly clients: BucketClients;
  private readonly keyspaces: Keyspaces;
  private readonly clock: Clock;
  /** By record, the newest write to it that has not ended. */
  private readonly recordWrites = new Map<string, Promise<void>>();

  constructor(clients: BucketClients, keyspaces: Keyspaces, clock: Clock) {
    this.clients = clients;
    this.keyspaces = keyspaces;
    this.clock = clock;
  }

  /** @throws SqlError 12003 */
  keyspace(name: KeyspaceName): Keyspace {
    const found = this.find(name);
    if (typeof found === 'string') throw sqlError(12003, keyspaceText(name));
    return found;
  }

  /** The keyspace, or which part of its name this node does not have. */
  find(name: KeyspaceName): ReturnType<Keyspaces['find']> {
    return this.keyspaces.find(name);
  }

  buckets(): readonly BucketState[] {
    return this.keyspaces.all();
  }

  /** In the order of the ids; undefined where neither a document nor its tombstone exists. */
  async linkedDocuments(
    keyspace: Keyspace,
    ids: readonly string[],
    limits: DataLimits,
  ): Promise<(LinkedDocument | undefined)[]> {
    return await this.reading(keyspace, limits, async (client, signal) => {
      const flags = DocFlag.accessDeleted;
      const found = await client.lookupMany(keyspace.collectionId, ids, linkReads, signal, flags);
      return found.map((parts) => {
        if (parts === Status.keyNotFound || parts === Status.invalidArguments) return undefined;
        if (typeof parts === 'number') throw new StatusError(SubdocMultiLookup.opcode, parts);
        const [txn, staged, document] = parts.results;
        return {
          cas: parts.cas,
          isDeleted: parts.isDeleted,
          txn: txn?.status === Status.success ? txnAttributeOf(txn.value) : undefined,
          staged: staged?.status === Status.success ? staged.value : undefined,
          attribute: objectOf<DocumentAttribute>(document?.value) ?? {},
        };
      });
    });
  }

  /**
   * Like `store`, but waits until the writes are on disk: on one node a majority does not survive a crash, and the order of
   * writes to disk would decide what remains of a transaction.
   */
  storePersisted(
    keyspace: Keyspace,
    requests: readonly StoreRequest[],
    limits: DataLimits,
  ): Promise<StoreReply[]> {
    const isOnDisk = this.keyspaces.bucket(keyspace.name.bucket)?.type === 'native';
    const isRaised = isOnDisk && limits.durability === 'majority';
    const durability = isRaised ? 'majorityAndPersistActive' : limits.durability;
    return this.store(keyspace, requests, { ...limits, durability });
  }

  /** Retries writes that are refused while a durable write of another transaction to the same document is in progress. */
  store(keyspace: Keyspace, requests: readonly StoreRequest[], limits: DataLimits): Promise<StoreReply[]> {
    const [first] = requests;
    if (first === undefined || !isTransactionRecordKey(first.key))
      return this.storeNow(keyspace, requests, limits);
    const record = `${keyspace.bucketUuid}/${keyspace.collectionId}/${first.key}`;
    return this.inTurn(record, limits.kvTimeoutMs, () => this.storeNow(keyspace, requests, limits));
  }

  /**
   * Runs `work` after the earlier work of this record, or after `waitMs`. Durable writes of one document exclude each other: among many that are
   * repeated until the data service accepts them, some would be refused until their time is over.
   */
  private async inTurn<T>(record: string, waitMs: number, work: () => Promise<T>): Promise<T> {
    const before = this.recordWrites.get(record);
    const ended = deferred<void>();
    this.recordWrites.set(record, ended.promise);
    try {
      if (before !== undefined) await atMost(this.clock, waitMs, before);
      return await work();
    } finally {
      if (this.recordWrites.get(record) === ended.promise) this.recordWrites.delete(record);
      ended.resolve();
    }
  }

  private storeNow(
    keyspace: Keyspace,
    requests: readonly StoreRequest[],
    limits: DataLimits,
  ): Promise<StoreReply[]> {
    const { durability } = limits;
    const durable = requests.map((request) => ({ ...request, durability }));
    return this.withTimeout(keyspace, limits, (clientOf, signal) =>
      retryWrites(
        { clock: this.clock, signal },
        durable,
        async (some, replies) => (await clientOf()).storeMany(keyspace.collectionId, some, signal, replies),
        // Well before the timeout, after which it is unknown whether the writes were made.
        { limitMs: limits.kvTimeoutMs / 2 },
      ),
    );
  }

  /** Retries a read after temporary failures, for half of the timeout. @throws SqlError when the data service does not answer in time */
  reading<T>(
    keyspace: Keyspace,
    limits: Pick<DataLimits, 'kvTimeoutMs'>,
    read: (client: BucketClient, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { clock } = this;
    const readLimitMs = limits.kvTimeoutMs / 2;
    return this.withTimeout(keyspace, limits, (clientOf, signal) =>
      retryTemporary({ clock, signal, readLimitMs }, async () => read(await clientOf(), signal)),
    );
  }

  /** `use` asks for the connection each time that it repeats requests: the previous one may have ended. */
  private async withTimeout<T>(
    { name }: Keyspace,
    { kvTimeoutMs }: Pick<DataLimits, 'kvTimeoutMs'>,
    use: (clientOf: () => Promise<BucketClient>, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const ending = new AbortController();
    const timeoutError = sqlError(17099, `the data service did not answer within ${kvTimeoutMs} ms`);
    const timer: Timer = this.clock.after(kvTimeoutMs, () => ending.abort(timeoutError));
    try {
      return await use(() => this.clients.clientOf(name.bucket), ending.signal);
    } catch (error) {
      // Nothing was written, which the error must say: otherwise a commit counts as ambiguous.
      if (error instanceof UnsentError) throw sqlErrorWith(17099, { isRetryable: true }, error.message);
      throw dataFailure(error, { name });
    } finally {
      timer.cancel();
    }
  }
}
