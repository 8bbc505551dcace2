// The record of an attempt: a document with its state, which decides whether the staged changes count.
import type { StoreReply } from '#client/bucket-client.ts';
import { isTransient, StatusError, statusName } from '#client/data-port-error.ts';
import type { PathRead, PathWrite } from '#client/subdoc.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import { SubdocMultiLookup } from '#wire/commands/subdocument.ts';
import { Status } from '#wire/status.ts';
import { DocFlag, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { missingStatuses, statusFailure } from '../data/data-failure.ts';
import {
  letterOf,
  macro,
  msOfCas,
  objectOf,
  type RecordedAttempt,
  type RecordedDocument,
  recordedAttempts,
} from './attempt-json.ts';
import type { StagedKind } from './staged-change.ts';
import type { DataLimits, TransactionData } from './transaction-data.ts';
import { commitFailure } from './transaction-failure.ts';

export interface RecordedAttempts {
  readonly attempts: ReadonlyMap<string, RecordedAttempt>;
  /** The time of the data service. */
  readonly nowMs: number;
}

/** A document that an attempt has staged. */
export interface StagedName {
  readonly kind: StagedKind;
  readonly id: string;
  readonly keyspace: Keyspace;
}

const { xattr, mkdirP, expandMacros } = PathFlag;
const casMacro = macro('CAS');
/** The body of a record: not JSON, so that queries skip it. */
const emptyBody = Buffer.from([0]);
/** Added to the expiry of an attempt before it counts as lost, because clocks of clients differ. */
const graceMs = 1_500;

const recordReads: readonly PathRead[] = ['attempts', '$vbucket'].map((path) => ({
  opcode: SubdocOpcode.get,
  flags: xattr,
  path,
}));

export class AttemptRecord {
  readonly keyspace: Keyspace;
  readonly id: string;
  private readonly data: TransactionData;
  private readonly limits: DataLimits;

  constructor(data: TransactionData, keyspace: Keyspace, id: string, limits: DataLimits) {
    this.data = data;
    this.keyspace = keyspace;
    this.id = id;
    this.limits = limits;
  }

  async read(): Promise<RecordedAttempts> {
    const [found] = await readRecords(this.data, this.keyspace, [this.id], this.limits);
    return found as RecordedAttempts;
  }

  /** Records the attempt before it stages its first document. */
  async begin(attempt: string, transaction: string, leftMs: number): Promise<void> {
    const member = (name: string, value: unknown): PathWrite => ({
      opcode: SubdocOpcode.dictAdd,
      flags: xattr | mkdirP,
      path: `attempts.${attempt}.${name}`,
      value: Buffer.from(JSON.stringify(value)),
    });
    await this.change(DocFlag.mkdoc, [
      member('tid', transaction),
      member('st', 'PENDING'),
      { ...member('tst', ''), flags: xattr | mkdirP | expandMacros, value: casMacro },
      member('exp', Math.max(1, Math.trunc(leftMs))),
      member('d', letterOf(this.limits.durability)),
      { opcode: SubdocOpcode.setDoc, flags: 0, path: '', value: emptyBody },
    ]);
  }

  /** Marks the attempt committed. Fails if another process has cleaned it up as lost. */
  commit(attempt: string, staged: readonly StagedName[]): Promise<void> {
    const path = `attempts.${attempt}`;
    const writes = [
      { ...upsert(`${path}.st`, 'COMMITTED'), flags: xattr },
      { ...upsert(`${path}.tsc`, ''), flags: xattr | expandMacros, value: casMacro },
      // Also added by the removal of a lost attempt: only the first of both succeeds.
      { opcode: SubdocOpcode.dictAdd, flags: xattr, path: `${path}.p`, value: Buffer.from('0') },
      ...documentsOf(path, staged),
    ];
    return this.change(0, writes, true);
  }

  async abort(attempt: string, staged: readonly StagedName[]): Promise<void> {
    const path = `attempts.${attempt}`;
    const state = [
      upsert(`${path}.st`, 'ABORTED'),
      { ...upsert(`${path}.tsrs`, ''), flags: xattr | mkdirP | expandMacros, value: casMacro },
    ];
    const reply = await this.send(0, [...state, ...documentsOf(path, staged)]);
    // The names of all documents do not fit into the record: stores the state without them. The rollback that follows has the names in
    // memory; only a clean-up after a crash lacks them.
    if (reply.status === Status.tooBig) await this.change(0, state);
    else this.check(reply);
  }

  /** Removes the attempt, if it exists. `isPending`: fails if it was committed meanwhile. */
  async remove(attempt: string, { isPending = false } = {}): Promise<void> {
    const path = `attempts.${attempt}`;
    const guard = { opcode: SubdocOpcode.dictAdd, flags: xattr, path: `${path}.p`, value: Buffer.from('{}') };
    const reply = await this.send(0, [
      ...(isPending ? [guard] : []),
      { opcode: SubdocOpcode.delete, flags: xattr, path },
    ]);
    const isGone =
      reply.status === Status.keyNotFound || reply.failedPartStatus === Status.subdocPathNotFound;
    if (!isGone) this.check(reply);
  }

  private async change(docFlags: number, writes: readonly PathWrite[], isPersisted = false): Promise<void> {
    this.check(await this.send(docFlags, writes, isPersisted));
  }

  private async send(
    docFlags: number,
    writes: readonly PathWrite[],
    isPersisted = false,
  ): Promise<StoreReply> {
    const request = {
      ...({ kind: 'replace', key: this.id, value: emptyBody, cas: 0n, expiry: 0 } as const),
      parts: { writes, docFlags },
    };
    const { data, keyspace, limits } = this;
    const [reply] = isPersisted
      ? await data.storePersisted(keyspace, [request], limits)
      : await data.store(keyspace, [request], limits);
    return reply as StoreReply;
  }

  private check({ status, failedPartStatus }: StoreReply): void {
    if (status === Status.success) return;
    const name = statusName(status === Status.subdocMultiPathFailure ? failedPartStatus : status);
    // Nothing was written, which the error must say: otherwise a commit counts as ambiguous.
    const isRefused = status === Status.keyNotFound || failedPartStatus !== 0 || isTransient(status);
    const text = `record ${this.id} of the transaction: the data service answered ${name}`;
    if (isRefused) throw sqlErrorWith(17099, { isRetryable: true }, text);
    // A record has the names of all documents of a transaction, which may be too many for it.
    throw status === Status.tooBig
      ? commitFailure(sqlErrorWith(17099, {}, text))
      : statusFailure(status, this.keyspace.name);
  }
}

const upsert = (path: string, value: unknown): PathWrite => ({
  opcode: SubdocOpcode.dictUpsert,
  flags: xattr | mkdirP,
  path,
  value: Buffer.from(JSON.stringify(value)),
});

function documentsOf(path: string, staged: readonly StagedName[]): PathWrite[] {
  const documentsOfKind = (wanted: StagedKind): RecordedDocument[] =>
    staged.filter(({ kind }) => kind === wanted).map(recorded);
  return [
    upsert(`${path}.ins`, documentsOfKind('insert')),
    upsert(`${path}.rep`, documentsOfKind('replace')),
    upsert(`${path}.rem`, documentsOfKind('remove')),
  ];
}

const recorded = ({ id, keyspace: { name } }: StagedName): RecordedDocument => ({
  id,
  bkt: name.bucket,
  scp: name.scope,
  col: name.collection,
});

export async function readRecords(
  data: TransactionData,
  keyspace: Keyspace,
  ids: readonly string[],
  limits: DataLimits,
): Promise<RecordedAttempts[]> {
  return await data.reading(keyspace, limits, async (client, signal) => {
    const found = await client.lookupMany(keyspace.collectionId, ids, recordReads, signal);
    return found.map((parts) => {
      if (typeof parts === 'number') {
        if (!missingStatuses.has(parts)) throw new StatusError(SubdocMultiLookup.opcode, parts);
        return { attempts: new Map(), nowMs: 0 };
      }
      const [attempts, vbucket] = parts.results;
      const clock = objectOf<{ HLC?: { now?: string } }>(vbucket?.value);
      return {
        attempts: recordedAttempts(attempts?.status === Status.success ? attempts.value : undefined),
        nowMs: Number(clock?.HLC?.now ?? 0) * 1_000,
      };
    });
  });
}

/** The time until the attempt expires; below zero it is lost. */
export const msUntilLost = ({ tst, exp = 0 }: RecordedAttempt, nowMs: number): number =>
  msOfCas(tst) + exp + graceMs - nowMs;

export const isLost = (attempt: RecordedAttempt, nowMs: number): boolean => msUntilLost(attempt, nowMs) < 0;
