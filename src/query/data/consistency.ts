// Computes the seqnos that an index must have applied for the scan consistency of a request.
import type { Consistency } from '#sqlpp/datastore/indexes.ts';
import { type Keyspace, keyspaceText } from '#sqlpp/datastore/keyspace.ts';
import { sqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import type { QueryRequest, ScanVector } from '../request/query-request.ts';
import type { BucketClients } from './bucket-clients.ts';
import { dataFailure } from './data-failure.ts';
import { type RetryOptions, retryTemporary } from './temporary-failures.ts';

type ConsistencyRequest = Pick<QueryRequest, 'consistency' | 'scanVector' | 'scanVectors'>;

/** One per request, since `request_plus` reads the seqnos of a keyspace once. */
export class RequestConsistency {
  private readonly wanted: ConsistencyRequest;
  private readonly clients: BucketClients;
  private readonly retry: RetryOptions;
  private readonly cache = new Map<string, Promise<Consistency>>();

  constructor(wanted: ConsistencyRequest, clients: BucketClients, retry: RetryOptions) {
    this.wanted = wanted;
    this.clients = clients;
    this.retry = retry;
  }

  /** @throws SqlError when the history of the vector has ended */
  consistencyOf(keyspace: Keyspace): Promise<Consistency> | Consistency {
    const { consistency } = this.wanted;
    if (consistency === 'not_bounded') return { kind: 'not_bounded' };
    if (consistency === 'statement_plus') return this.find(keyspace);
    const name = keyspaceText(keyspace.name);
    const cached = this.cache.get(name) ?? this.find(keyspace);
    this.cache.set(name, cached);
    return cached;
  }

  private async find(keyspace: Keyspace): Promise<Consistency> {
    try {
      return await retryTemporary(this.retry, async () => {
        const vector = await (this.wanted.consistency === 'at_plus'
          ? this.fromVector(keyspace)
          : this.newest(keyspace));
        if (vector === undefined) return { kind: 'not_bounded' };
        return { kind: 'at', vector, renew: () => this.find(keyspace) };
      });
    } catch (error) {
      throw dataFailure(error, keyspace);
    }
  }

  /** Includes the uuid of each vbucket: after a flush, an index may still have larger seqnos of the history before. */
  private async newest({ name, collectionId }: Keyspace): Promise<ScanVector> {
    const { uuids, seqnos } = await this.clients.positionsOf(name.bucket, collectionId);
    const vector = new Map<number, { seqno: number; uuid: bigint }>();
    for (const [vb, seqno] of seqnos.entries()) vector.set(vb, { seqno, uuid: uuids[vb] ?? 0n });
    return vector;
  }

  private async fromVector(keyspace: Keyspace): Promise<ScanVector | undefined> {
    const vector = this.vectorOf(keyspace);
    if (vector === undefined) return undefined;
    const client = await this.clients.clientOf(keyspace.name.bucket);
    // A vector of the whole bucket may name changes of other collections, for which an index of this one need not wait. The seqnos are read
    // before the histories, so that the histories are at least as new: after a failover in between, they show that it happened.
    const seqnos = await client.highSeqnos(keyspace.collectionId);
    const named = [...vector].filter(([, { uuid }]) => uuid !== 0n).map(([vb]) => vb);
    const logs = await client.failoverLogs(named);
    const current = new Map<number, { seqno: number; uuid: bigint }>();
    for (const [vb, { seqno, uuid }] of vector) {
      const log = logs.get(vb) ?? [];
      const index = log.findIndex((entry) => entry.uuid === uuid);
      const next = log[index - 1];
      const isInHistory = uuid === 0n || (index >= 0 && (next === undefined || seqno <= next.seqno));
      if (!isInHistory) throw rollbackError(vb, keyspace);
      current.set(vb, { seqno: Math.min(seqno, seqnos[vb] ?? 0), uuid: log[0]?.uuid ?? 0n });
    }
    return current;
  }

  private vectorOf(keyspace: Keyspace): ScanVector | undefined {
    const { scanVector, scanVectors } = this.wanted;
    if (scanVector !== null) return scanVector;
    const { bucket, scope, collection } = keyspace.name;
    const full = `${bucket}.${scope}.${collection}`;
    // SDKs name the bucket, whatever the collection.
    for (const name of [`default:${full}`, full, `default:${bucket}`, bucket]) {
      const vector = scanVectors?.get(name) ?? scanVectors?.get(name.replaceAll(/[^.:]+/g, '`$&`'));
      if (vector !== undefined) return vector;
    }
    return undefined;
  }
}

function rollbackError(vb: number, { name }: Keyspace): Error {
  const text = `rollback: vbucket ${vb} of ${keyspaceText(name)} no longer has the history of the scan vector`;
  return sqlErrorWith(5000, { isRetryable: false }, text);
}

/** Refuses `scan_vector` for a statement over several keyspaces. */
export function checkSingleVector({ scanVector }: ConsistencyRequest, keyspaces: readonly Keyspace[]): void {
  if (scanVector === null) return;
  const names = new Set(keyspaces.map(({ name }) => keyspaceText(name)));
  if (names.size > 1) throw sqlError(5190, [...names].join(', '));
}
