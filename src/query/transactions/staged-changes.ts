// The changes of one transaction: those of finished statements, which later ones see, and those of the running one, which are kept if it
// succeeds. Savepoints are positions in an undo log.
import { resultOf, type WorkSteps } from '#base/steps.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { bytesOf, collectionKeyOf, type StagedChange } from './staged-change.ts';

type Changes = Map<string, StagedChange>;

interface Undo {
  readonly keyspace: Keyspace;
  readonly id: string;
  readonly before: StagedChange | undefined;
}

const none: ReadonlyMap<string, StagedChange> = new Map();

export const savepointsMax = 1_000;
const savepointNameMax = 1_000;
/** How many changes are accepted in one step. */
const acceptedAtOnce = 4_096;

export class StagedChanges {
  private readonly byCollection = new Map<string, Changes>();
  /** null: the statement undid the change. */
  private readonly running = new Map<string, Map<string, StagedChange | null>>();
  /** By name, in the order in which they were set: the length that the undo log had. */
  private readonly savepoints = new Map<string, number>();
  /** What the statements since the first savepoint replaced, oldest first; empty without a savepoint. */
  private undoLog: Undo[] = [];
  private lastCas = 0n;
  /** The approximate memory of all changes, and of those that the undo log keeps. */
  usedBytes = 0;

  /** The changes that the running statement reads: those of earlier statements. */
  changesOf(keyspace: Keyspace): ReadonlyMap<string, StagedChange> {
    return this.byCollection.get(collectionKeyOf(keyspace)) ?? none;
  }

  /** The newest change of a document, including those of the running statement. */
  newest({ keyspace, id }: Pick<StagedChange, 'keyspace' | 'id'>): StagedChange | undefined {
    const changed = this.running.get(collectionKeyOf(keyspace))?.get(id);
    return changed === undefined ? this.changesOf(keyspace).get(id) : (changed ?? undefined);
  }

  all(): StagedChange[] {
    return [...this.byCollection.values()].flatMap((changes) => [...changes.values()]);
  }

  /** A CAS that is unique in the transaction. */
  nextCas(wallMs: number): bigint {
    const now = BigInt(Math.trunc(wallMs)) * 1_000_000n;
    this.lastCas = now > this.lastCas ? now : this.lastCas + 1n;
    return this.lastCas;
  }

  /** Adds a change of the running statement. */
  put(change: StagedChange): void {
    const collection = collectionKeyOf(change.keyspace);
    const before = this.running.get(collection)?.get(change.id);
    this.usedBytes += bytesOf(change) - bytesOfAny(before);
    this.runningIn(collection).set(change.id, change);
  }

  /** Removes the transaction's change of the document. */
  drop({ keyspace, id }: StagedChange): void {
    const changes = this.runningIn(collectionKeyOf(keyspace));
    this.usedBytes -= bytesOfAny(changes.get(id));
    changes.set(id, null);
  }

  acceptStatement(): void {
    resultOf(this.acceptInSteps());
  }

  /** Makes the changes of the running statement those of the transaction: it succeeded. There may be a hundred thousand of them. */
  *acceptInSteps(): WorkSteps<void> {
    let accepted = 0;
    for (const [collection, changes] of this.running)
      for (const [id, change] of changes) {
        if (++accepted % acceptedAtOnce === 0) yield;
        this.replace(collection, id, change ?? undefined);
      }
    this.running.clear();
  }

  /** Discards the changes of the running statement, which failed. */
  undoStatement(): void {
    for (const changes of this.running.values())
      for (const change of changes.values()) this.usedBytes -= bytesOfAny(change);
    this.running.clear();
  }

  setSavepoint(name: string): void {
    if (name.length > savepointNameMax)
      throw sqlError(17099, `the name of a savepoint has at most ${savepointNameMax} characters`);
    if (!this.savepoints.has(name) && this.savepoints.size >= savepointsMax)
      throw sqlError(17099, `a transaction has at most ${savepointsMax} savepoints`);
    this.savepoints.delete(name);
    this.savepoints.set(name, this.undoLog.length);
  }

  /** Restores the changes at the savepoint and removes later savepoints. */
  rollbackTo(name: string): void {
    const position = this.savepoints.get(name);
    if (position === undefined) throw sqlError(17009, name);
    for (const { keyspace, id, before } of this.undoLog.splice(position).reverse()) {
      const changes = this.changesIn(collectionKeyOf(keyspace));
      if (before === undefined) changes.delete(id);
      else changes.set(id, before);
    }
    const names = [...this.savepoints.keys()];
    for (const laterName of names.slice(names.indexOf(name) + 1)) this.savepoints.delete(laterName);
    this.recountBytes();
  }

  clear(): void {
    this.byCollection.clear();
    this.running.clear();
    this.savepoints.clear();
    this.undoLog = [];
    this.usedBytes = 0;
  }

  private replace(collection: string, id: string, change: StagedChange | undefined): void {
    const changes = this.changesIn(collection);
    const before = changes.get(id);
    const keyspace = (change ?? before)?.keyspace;
    if (keyspace === undefined) return;
    // Only savepoints need the undo log.
    if (this.savepoints.size > 0) this.undoLog.push({ keyspace, id, before });
    else if (before !== undefined) this.usedBytes -= bytesOf(before);
    if (change === undefined) changes.delete(id);
    else changes.set(id, change);
  }

  private recountBytes(): void {
    const logged = this.undoLog.flatMap(({ before }) => (before === undefined ? [] : [before]));
    this.usedBytes = [...this.all(), ...logged].reduce((total, change) => total + bytesOf(change), 0);
  }

  private changesIn(collection: string): Changes {
    const existing = this.byCollection.get(collection);
    if (existing !== undefined) return existing;
    const added: Changes = new Map();
    this.byCollection.set(collection, added);
    return added;
  }

  private runningIn(collection: string): Map<string, StagedChange | null> {
    const existing = this.running.get(collection);
    if (existing !== undefined) return existing;
    const added = new Map<string, StagedChange | null>();
    this.running.set(collection, added);
    return added;
  }
}

const bytesOfAny = (change: StagedChange | null | undefined): number => (change ? bytesOf(change) : 0);
