// Parses `txdata`: the state of an attempt that a client library continues here.
import type { Durability } from '#sqlpp/datastore/documents.ts';
import type { KeyspaceName } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { isMembers, type Members } from './attempt-json.ts';
import type { StagedKind } from './staged-change.ts';
import type { RecordLocation } from './transaction.ts';

export interface ResumedMutation {
  readonly kind: StagedKind;
  readonly keyspace: KeyspaceName;
  readonly id: string;
}

export interface ResumedAttempt {
  readonly id: string;
  readonly transactionId: string;
  /** 0: absent. */
  readonly timeLeftMs: number;
  readonly kvTimeoutMs: number;
  readonly durability: Durability | null;
  readonly record: RecordLocation | null;
  readonly mutations: readonly ResumedMutation[];
}

const kinds: ReadonlyMap<unknown, StagedKind> = new Map([
  ['INSERT', 'insert'],
  ['REPLACE', 'replace'],
  ['REMOVE', 'remove'],
]);
const durabilities: ReadonlyMap<unknown, Durability> = new Map([
  ['NONE', 'none'],
  ['MAJORITY', 'majority'],
  ['MAJORITY_AND_PERSIST_TO_ACTIVE', 'majorityAndPersistActive'],
  ['PERSIST_TO_MAJORITY', 'persistToMajority'],
]);
const mutationsMax = 100_000;
const idCharactersMax = 100;

/** Null if `txdata` is absent or names no attempt. @throws SqlError 1040 that names the wrong member */
export function resumedAttempt(data: Value): ResumedAttempt | null {
  if (!isMembers(data) || data['id'] === undefined) return null;
  const { id: ids, state, config, atr, mutations = [] } = data;
  if (!isMembers(ids)) throw wrongField('id', 'an object with txn and atmpt');
  if (!Array.isArray(mutations) || mutations.length > mutationsMax)
    throw wrongField('mutations', `an array of at most ${mutationsMax} objects`);
  return {
    id: attemptId(ids['atmpt'], 'id.atmpt'),
    transactionId: attemptId(ids['txn'], 'id.txn'),
    timeLeftMs: msOf(state, 'timeLeftMs'),
    kvTimeoutMs: msOf(config, 'kvTimeoutMs'),
    durability: (isMembers(config) && durabilities.get(config['durabilityLevel'])) || null,
    record: recordOf(atr),
    mutations: mutations.map(mutationOf),
  };
}

const wrongField = (name: string, expected: string) => sqlError(1040, `txdata: ${name} must be ${expected}`);

/** Checked strictly, because the id becomes part of a path in the record. */
function attemptId(value: unknown, name: string): string {
  if (typeof value === 'string' && value.length <= idCharactersMax && /^[\w-]+$/.test(value)) return value;
  throw wrongField(name, 'an id of letters, digits and dashes');
}

function msOf(members: unknown, name: string): number {
  const value = isMembers(members) ? members[name] : undefined;
  return typeof value === 'number' && value > 0 ? value : 0;
}

function recordOf(atr: unknown): RecordLocation | null {
  if (!isMembers(atr)) return null;
  const text = (name: string): string => (typeof atr[name] === 'string' ? (atr[name] as string) : '');
  const [bucket, scope, collection, id] = [text('bkt'), text('scp'), text('coll'), text('id')];
  if (bucket === '') return null;
  if (id !== '' && !/^_txn:atr-\d{1,4}-#[0-9a-f]{1,8}$/.test(id))
    throw wrongField('atr.id', 'the id of a record');
  return {
    bucket,
    scope: scope || '_default',
    collection: collection || '_default',
    id: id === '' ? null : id,
  };
}

function mutationOf(sent: unknown): ResumedMutation {
  const { bkt: bucket, scp: scope, coll: collection, id, type } = (isMembers(sent) ? sent : {}) as Members;
  const kind = kinds.get(type);
  const texts = [bucket, scope, collection, id];
  if (kind === undefined || !texts.every((text) => typeof text === 'string'))
    throw wrongField('mutations', 'objects with bkt, scp, coll, id and type INSERT, REPLACE or REMOVE');
  const [bucketName, scopeName, collectionName, key] = texts as string[] as [string, string, string, string];
  return {
    kind,
    id: key,
    keyspace: { namespace: 'default', bucket: bucketName, scope: scopeName, collection: collectionName },
  };
}
