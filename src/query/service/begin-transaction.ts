// Begins the transaction that a request asks for, or takes over one that a client library has begun with document operations.
import type { KeyspaceName } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { checkPrivileges, mayWriteDocuments } from '../access/privileges.ts';
import type { Session } from '../access/session.ts';
import { parseDuration } from '../request/duration.ts';
import type { QueryRequest } from '../request/query-request.ts';
import type { QueryParts } from '../state/parts.ts';
import { parseCollectionPath } from '../transactions/collection-path.ts';
import {
  type ResumedAttempt,
  type ResumedMutation,
  resumedAttempt,
} from '../transactions/resumed-attempt.ts';
import { takeOver } from '../transactions/take-over.ts';
import type { RecordLocation, Transaction } from '../transactions/transaction.ts';

const defaultTimeoutMs = 15_000;
const longestTimeoutMs = 24 * 3_600_000;
const defaultKvTimeoutMs = 10_000;
const longestKvTimeoutMs = 3_600_000;
const defaultMemoryBytes = 128 << 20;
const mib = 1 << 20;

export async function beginTransaction(
  service: QueryParts,
  request: QueryRequest,
  session: Session,
): Promise<Transaction> {
  const { random, edition } = service.deps;
  if (edition === 'community') throw sqlError(17097);
  const resumed = resumedAttempt(request.transaction.data);
  const recordLocation = recordLocationFor(service, request, session, resumed);
  if (resumed !== null) checkMutations(session, resumed.mutations);
  const transaction = service.transactions.begin({
    id: resumed?.id ?? random.uuid(),
    transactionId: resumed?.transactionId ?? random.uuid(),
    users: session.users,
    timeoutMs: timeoutFor(service, request, resumed),
    kvTimeoutMs: Math.min(
      request.transaction.kvTimeoutMs || resumed?.kvTimeoutMs || defaultKvTimeoutMs,
      longestKvTimeoutMs,
    ),
    durability: request.durability ?? resumed?.durability ?? 'majority',
    consistency: request.isConsistencySet ? request.consistency : 'request_plus',
    recordLocation,
    isRecorded: (recordLocation?.id ?? null) !== null,
    isImplicit: request.transaction.isImplicit,
    memoryBytesMax: request.memoryQuotaMb > 0 ? request.memoryQuotaMb * mib : defaultMemoryBytes,
  });
  try {
    await takeOver(service.transactions.data, transaction, resumed?.mutations ?? []);
    return transaction;
  } catch (error) {
    service.transactions.discard(transaction);
    throw error;
  }
}

function timeoutFor(
  { deps }: QueryParts,
  { transaction }: QueryRequest,
  resumed: ResumedAttempt | null,
): number {
  const ofService = parseDuration(String(deps.settings.others['txtimeout'])) ?? 0;
  const wanted = transaction.timeoutMs || defaultTimeoutMs;
  const limits = [wanted, ofService, resumed?.timeLeftMs ?? 0, longestTimeoutMs].filter((ms) => ms > 0);
  return Math.min(...limits);
}

/** A collection that the request or its txdata names for attempt records must be writable for the user of the request. @throws SqlError 13014, 17006, 12003 */
function recordLocationFor(
  { deps, transactions }: QueryParts,
  { transaction }: QueryRequest,
  { callers }: Session,
  resumed: ResumedAttempt | null,
): RecordLocation | null {
  const ofClient = resumed?.record ?? namedLocation(transaction.atrCollection);
  const location = ofClient ?? namedLocation(String(deps.settings.others['atrcollection']));
  if (location === null) return null;
  const { bucket, scope, collection } = location;
  const keyspace: KeyspaceName = { namespace: 'default', bucket, scope, collection };
  if (ofClient !== null && !mayWriteDocuments(callers, keyspace))
    throw sqlError(
      13014,
      `User does not have credentials to keep records of transactions in ${bucket}.${scope}.${collection}. Add role data_writer on ${bucket}.${scope}.${collection} to allow the statement to run.`,
    );
  // Throws when the collection does not exist.
  transactions.data.keyspace(keyspace);
  return location;
}

/** null: no collection is named. @throws SqlError 17006 */
function namedLocation(path: string | null): RecordLocation | null {
  if (path === null || path === '') return null;
  const location = parseCollectionPath(path);
  if (location !== null) return location;
  throw sqlError(
    17006,
    `Start Transaction statement error: atrcollection ${path} must have the form bucket or bucket.scope.collection`,
  );
}

const actions = { insert: 'insert', replace: 'update', remove: 'delete' } as const;

function checkMutations({ callers }: Session, mutations: readonly ResumedMutation[]): void {
  checkPrivileges(
    callers,
    mutations.map(({ kind, keyspace }) => ({ action: actions[kind], keyspace })),
  );
}
