// Data of transactions whose requests fail.
import type { StoreReply, StoreRequest } from '#client/bucket-client.ts';
import { DataPortError, UnsentError } from '#client/data-port-error.ts';
import { realClock } from '#ports/clock.ts';
import type { BucketClients } from '#query/data/bucket-clients.ts';
import type { Keyspaces } from '#query/data/keyspaces.ts';
import type { RecordedAttempt } from '#query/transactions/attempt-json.ts';
import { AttemptRecord } from '#query/transactions/attempt-record.ts';
import { cleanUp } from '#query/transactions/clean-up.ts';
import type { Transaction } from '#query/transactions/transaction.ts';
import { type DataLimits, TransactionData } from '#query/transactions/transaction-data.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { Status } from '#wire/status.ts';

interface Access {
  readonly clients: BucketClients;
  readonly keyspaces: Keyspaces;
}

/** Sends a number of requests and, with `sendsHalf`, half of the writes of the next one; then fails. */
export class BreakingData extends TransactionData {
  private left: number;
  private readonly sendsHalf: boolean;
  private readonly failure: Error | number;
  sent = 0;

  /** `failure`: an error, or the status with which requests are refused. */
  constructor(
    parts: Access,
    left: number,
    sendsHalf: boolean,
    failure: Error | number = new Error('the process ended'),
  ) {
    super(parts.clients, parts.keyspaces, realClock);
    this.left = left;
    this.sendsHalf = sendsHalf;
    this.failure = failure;
  }

  override async store(
    keyspace: Keyspace,
    requests: readonly StoreRequest[],
    limits: DataLimits,
  ): Promise<StoreReply[]> {
    this.sent++;
    if (this.left-- > 0) return await super.store(keyspace, requests, limits);
    if (this.left === -1 && this.sendsHalf && requests.length > 1)
      await super.store(keyspace, requests.slice(0, Math.ceil(requests.length / 2)), limits);
    const { failure } = this;
    if (typeof failure !== 'number') throw failure;
    return requests.map(() => ({ status: failure, cas: 0n, token: null, failedPartStatus: 0 }));
  }
}

/** Loses the replies to one request, whose writes the data service has made. */
export class ForgettingData extends TransactionData {
  private readonly lostRequest: number;
  private sent = 0;

  constructor({ clients, keyspaces }: Access, lostRequest: number) {
    super(clients, keyspaces, realClock);
    this.lostRequest = lostRequest;
  }

  override async store(
    keyspace: Keyspace,
    requests: readonly StoreRequest[],
    limits: DataLimits,
  ): Promise<StoreReply[]> {
    const replies = await super.store(keyspace, requests, limits);
    if (++this.sent === this.lostRequest) throw new DataPortError('the connection ended');
    return replies;
  }
}

/** Refuses records with names of documents as too large. */
export class FullData extends TransactionData {
  override async store(
    keyspace: Keyspace,
    requests: readonly StoreRequest[],
    limits: DataLimits,
  ): Promise<StoreReply[]> {
    // `ins`: the documents that the attempt inserts.
    const hasNames = requests.some(({ parts }) => parts?.writes.some(({ path }) => path.endsWith('.ins')));
    if (!hasNames) return await super.store(keyspace, requests, limits);
    return requests.map(() => ({ status: Status.tooBig, cas: 0n, token: null, failedPartStatus: 0 }));
  }
}

/** Clients that send a number of writes, and then reach no node. */
export function unsendingClients(clients: BucketClients, left: number): BucketClients {
  let sent = 0;
  const clientOf = async (bucket: string) => {
    const client = await clients.clientOf(bucket);
    const storeMany: typeof client.storeMany = (...request) =>
      sent++ < left
        ? client.storeMany(...request)
        : Promise.reject(new UnsentError('no node serves the vbucket of a document'));
    return { storeMany, lookupMany: client.lookupMany.bind(client) };
  };
  return { clientOf } as unknown as BucketClients;
}

/** Calls `interfere` before a request of this number, as another writer may act between two requests. */
export class InterruptedData extends TransactionData {
  private left: number;
  private readonly interfere: () => Promise<unknown>;

  constructor({ clients, keyspaces }: Access, before: number, interfere: () => Promise<unknown>) {
    super(clients, keyspaces, realClock);
    this.left = before;
    this.interfere = interfere;
  }

  override async store(
    keyspace: Keyspace,
    requests: readonly StoreRequest[],
    limits: DataLimits,
  ): Promise<StoreReply[]> {
    if (--this.left === 0) await this.interfere();
    return await super.store(keyspace, requests, limits);
  }
}

/** Does what the clean-up of another process does once the attempt has expired. */
export async function cleanUpNow({ clients, keyspaces }: Access, transaction: Transaction): Promise<void> {
  const { start, record: place } = transaction;
  if (place === null) throw new Error('the attempt was not recorded');
  const data = new TransactionData(clients, keyspaces, realClock);
  const record = new AttemptRecord(data, data.keyspace(place.keyspace), place.id, start);
  const entry = (await record.read()).attempts.get(start.id) as RecordedAttempt;
  await cleanUp({ data, isDropped: () => false }, record, start.id, entry);
}
