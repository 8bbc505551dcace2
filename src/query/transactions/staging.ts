// Stages the changes of a transaction in the data service, commits them, or rolls them back.
import type { StoreReply, StoreRequest } from '#client/bucket-client.ts';
import { isTransient, statusName } from '#client/data-port-error.ts';
import type { Random } from '#ports/random.ts';
import { type Keyspace, keyspaceText } from '#sqlpp/datastore/keyspace.ts';
import { sqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import { Status } from '#wire/status.ts';
import {
  type AttemptName,
  type Base,
  commitRequest,
  rollbackRequest,
  stageRequest,
} from './document-requests.ts';
import type { OtherAttempts } from './other-attempts.ts';
import { collectionKeyOf, type StagedChange, type StagedKind } from './staged-change.ts';
import type { DataLimits, LinkedDocument, TransactionData } from './transaction-data.ts';
import { conflict } from './transaction-failure.ts';

export interface StagedDocument extends StagedChange {
  /** The CAS of the document with the staged change. */
  readonly stagedCas: bigint;
  /** Whether the staged change is stored with a tombstone, as that of an insert is. */
  readonly isDeleted: boolean;
}

export interface StagingOptions {
  readonly data: TransactionData;
  readonly random: Random;
  readonly others: OtherAttempts;
  readonly attempt: AttemptName;
  readonly limits: DataLimits;
}

export class Staging {
  private readonly options: StagingOptions;
  /** The staged documents in the data service, to commit or to roll back. */
  readonly staged: StagedDocument[] = [];
  /** Documents that may be staged already: a client library staged them, and `stage` does so again, or a request to stage them did not succeed. */
  private readonly unconfirmed = new Set<StagedChange>();

  constructor(options: StagingOptions) {
    this.options = options;
  }

  /** The documents that a rollback must restore. */
  get touched(): StagedChange[] {
    return [...this.staged, ...this.unconfirmed];
  }

  /** @throws SqlError at the first document that cannot be staged; earlier ones are in `touched` */
  async stage(changes: readonly StagedChange[]): Promise<void> {
    for (const change of changes)
      if (!change.isUnstaged)
        this.staged.push({ ...change, stagedCas: change.cas, isDeleted: change.stagedByClient === 'insert' });
      else if (change.stagedByClient !== null) this.unconfirmed.add(change);
    for (const group of groups(changes.filter(({ isUnstaged }) => isUnstaged))) await this.stageGroup(group);
  }

  /** Resolves with the reason if a document could not be changed, which is left to the clean-up; null otherwise. */
  async commit(): Promise<string | null> {
    let { problem, overtaken } = await this.finish(this.staged, commitEnd);
    for (let round = 0; overtaken.length > 0 && problem === null; round++) {
      if (round === overtakenMax) return `${overtaken[0]?.id}: other writers change it again and again`;
      ({ problem, overtaken } = await this.commitOver(overtaken));
    }
    return problem;
  }

  /**
   * Another writer has changed documents after they were staged. As with client libraries the transaction replaces what was written, as long as
   * the document is still linked to the attempt; a deletion counts as one after the transaction.
   */
  private async commitOver(changes: readonly StagedChange[]): Promise<Finish> {
    const { linked, replaced } = await this.lookUp(changes);
    const done = await this.finish(linked, commitEnd);
    const [id] = replaced;
    return id === undefined
      ? done
      : { ...done, problem: `${id}: another writer has replaced the staged document` };
  }

  /** Resolves as `commit` does. */
  async rollback(): Promise<string | null> {
    const { problem, overtaken } = await this.finish(this.staged, rollbackEnd);
    // An ordinary write keeps the attribute that links the document to the attempt.
    const { linked } = await this.lookUp([...overtaken, ...this.unconfirmed]);
    return (await this.finish(linked, rollbackEnd)).problem ?? problem;
  }

  /** Which documents this attempt has staged, and which exist without its change. */
  private async lookUp(
    changes: readonly StagedChange[],
  ): Promise<{ linked: StagedDocument[]; replaced: string[] }> {
    const { data, limits, attempt } = this.options;
    const linked: StagedDocument[] = [];
    const replaced: string[] = [];
    for (const group of groups(changes)) {
      const ids = group.map(({ id }) => id);
      const found = await data.linkedDocuments((group[0] as StagedChange).keyspace, ids, limits);
      for (const [at, document] of found.entries()) {
        if (document === undefined) continue;
        const { txn, cas, isDeleted } = document;
        const change = group[at] as StagedChange;
        if (txn?.id?.atmpt === attempt.id)
          // Another client may have created the document of a staged insert.
          linked.push({ ...change, kind: kindOver(change, isDeleted), stagedCas: cas, isDeleted });
        else if (!isDeleted) replaced.push(change.id);
      }
    }
    return { linked, replaced };
  }

  private async stageGroup(changes: readonly StagedChange[]): Promise<void> {
    const { data, limits, attempt, random } = this.options;
    const keyspace = (changes[0] as StagedChange).keyspace;
    const ids = changes.map(({ id }) => id);
    const found = await data.linkedDocuments(keyspace, ids, limits);
    const bases: (Base | undefined)[] = [];
    for (const [at, change] of changes.entries()) bases.push(await this.baseOf(change, found[at]));
    const requests = changes.map((change, at) => stageRequest(change, bases[at], attempt, random.uuid()));
    for (const change of changes) this.unconfirmed.add(change);
    const replies = await data.storePersisted(keyspace, requests, limits);
    for (const [at, { status, cas }] of replies.entries()) {
      if (!isDone(status)) continue;
      const change = changes[at] as StagedChange;
      this.unconfirmed.delete(change);
      this.staged.push({ ...change, stagedCas: cas, isDeleted: bases[at]?.isDeleted ?? true });
    }
    for (const [at, reply] of replies.entries()) checkStaged(changes[at] as StagedChange, reply);
  }

  /** @throws SqlError when the document has changed since the transaction read it, or another transaction has staged a change */
  private async baseOf(change: StagedChange, found: LinkedDocument | undefined): Promise<Base | undefined> {
    const { kind, id, keyspace, cas, stagedByClient } = change;
    const isOwn = found?.txn?.id?.atmpt === this.options.attempt.id;
    if (found?.txn?.id !== undefined && !isOwn && (await this.options.others.isConflicting(found.txn)))
      throw conflict(id, 'the document is in another transaction');
    const exists = found !== undefined && !found.isDeleted;
    if (kind === 'insert' && stagedByClient === null) {
      if (exists) throw sqlError(17012, ` for '${keyspaceText(keyspace.name)}'`, id);
      return found;
    }
    if (found === undefined || (found.isDeleted && stagedByClient !== 'insert'))
      throw conflict(id, 'the document was deleted');
    if (found.cas !== cas) throw conflict(id, 'the document was changed by another writer (CAS mismatch)');
    return found;
  }

  private async finish(
    documents: readonly StagedDocument[],
    { requestOf, store }: StagedEnd,
  ): Promise<Finish> {
    const { data, limits } = this.options;
    let problem: string | null = null;
    const overtaken: StagedDocument[] = [];
    for (const group of groups(documents)) {
      const { keyspace } = group[0] as StagedDocument;
      const replies = await data[store](keyspace, group.map(requestOf), limits);
      for (const [at, { status, failedPartStatus }] of replies.entries()) {
        if (isDone(status)) continue;
        const document = group[at] as StagedDocument;
        if (isOvertaken(status, failedPartStatus)) overtaken.push(document);
        else problem ??= `${document.id}: the data service answered ${statusName(status)}`;
      }
    }
    return { problem, overtaken };
  }
}

/** How staged changes are ended. */
interface StagedEnd {
  readonly requestOf: (document: StagedDocument) => StoreRequest;
  readonly store: 'store' | 'storePersisted';
}

/** How the requests that end staged changes were answered. */
interface Finish {
  /** The first failure. */
  readonly problem: string | null;
  /** Documents that have changed since they were staged. */
  readonly overtaken: readonly StagedDocument[];
}

/** The most rounds in which a commit replaces what other writers have written to its documents since the round before. */
const overtakenMax = 10;

const rollbackOf = ({ id, stagedCas, isDeleted }: StagedDocument): StoreRequest =>
  rollbackRequest(id, stagedCas, isDeleted);

function commitOf(document: StagedDocument): StoreRequest {
  const { kind, stagedCas, isDeleted } = document;
  // The removal of a document that a client library has inserted in this attempt: it does not exist yet.
  if (kind === 'remove' && isDeleted) return rollbackOf(document);
  return commitRequest(document, kind === 'insert' ? 0n : stagedCas);
}

/** Persisted, because the attempt is removed from its record afterwards: a crash must not leave documents staged without it. */
const commitEnd: StagedEnd = { requestOf: commitOf, store: 'storePersisted' };
/** A change that is left staged without a record is ignored. */
const rollbackEnd: StagedEnd = { requestOf: rollbackOf, store: 'store' };

const kindOver = ({ kind }: StagedChange, isDeleted: boolean): StagedKind =>
  kind === 'insert' && !isDeleted ? 'replace' : kind;

export const isDone = (status: number): boolean =>
  status === Status.success || status === Status.subdocSuccessDeleted;

/** True if another process has cleaned up, overwritten or deleted the document. */
const isOvertaken = (status: number, failedPartStatus: number): boolean =>
  status === Status.keyNotFound ||
  status === Status.keyExists ||
  status === Status.notStored ||
  failedPartStatus === Status.subdocPathNotFound;

function checkStaged({ id, keyspace }: StagedChange, { status, failedPartStatus }: StoreReply): void {
  if (isDone(status)) return;
  if (status === Status.keyExists || status === Status.notStored || status === Status.keyNotFound)
    throw conflict(id, 'the document was changed by another writer (CAS mismatch)');
  if (status === Status.locked) throw conflict(id, 'the document is locked');
  const name = statusName(failedPartStatus === 0 ? status : failedPartStatus);
  const text = `Transaction staging error: ${id} of ${keyspaceText(keyspace.name)}: the data service answered ${name}`;
  const cause = { raise: 'failed', retry: isTransient(status), rollback: false, msg: text };
  throw sqlErrorWith(17020, { cause }, text);
}

/** Batches of this many documents of one collection. */
const groupMax = 256;

function* groups<T extends { readonly keyspace: Keyspace }>(items: readonly T[]): Iterable<readonly T[]> {
  const byCollection = new Map<string, T[]>();
  for (const item of items) {
    const key = collectionKeyOf(item.keyspace);
    const group = byCollection.get(key);
    if (group === undefined) byCollection.set(key, [item]);
    else group.push(item);
  }
  for (const group of byCollection.values())
    for (let at = 0; at < group.length; at += groupMax) yield group.slice(at, at + groupMax);
}
