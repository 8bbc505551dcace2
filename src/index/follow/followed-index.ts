// One index that follows its collection: processes changes in the order of the stream, buffers their rows until the next commit, and
// knows whether it is complete. Documents of a vbucket's first snapshot have no rows yet, so a build stages their rows and
// writes them sorted.

import type { Change } from '#client/change.ts';
import type { FailoverEntry, StreamPosition } from '#client/change-connection.ts';
import { vbucketCount } from '#client/document-key.ts';
import { isTransactionRecordKey } from '#client/transaction-record.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import type { CompiledDefinition } from '../entries/compiled-definition.ts';
import { RowMaker } from '../entries/row-maker.ts';
import { IndexProgress, unknownSeqno } from '../index-progress.ts';
import type { DocumentRows, IndexFile } from '../store/index-store.ts';
import { StreamDocument } from './stream-document.ts';
import { numberAt, VbPositions } from './vb-positions.ts';
import { VbucketSet } from './vbucket-set.ts';

/** The limit of buffered changes after the first snapshots of a build. */
const pendingMax = 10_000;

export interface FollowedIndexOptions {
  readonly definition: IndexDefinition;
  readonly compiled: CompiledDefinition;
  readonly file: IndexFile;
  /** A build writes its staged rows before it is complete when they take more bytes. */
  readonly stageBytesMax: number;
  /** The progress of an index that is reopened, so that its readers keep using it. */
  readonly progress?: IndexProgress;
}

export class FollowedIndex {
  readonly definition: IndexDefinition;
  readonly progress: IndexProgress;
  readonly file: IndexFile;
  /** The number of changes of the collection that were processed since the start. */
  changes = 0;
  private readonly rowMaker: RowMaker;
  private readonly positions: VbPositions;
  private readonly stageBytesMax: number;
  private readonly document = new StreamDocument();
  /** Vbuckets whose stream is open: their indexed changes belong to the data service's history. */
  private readonly confirmed = new Uint8Array(vbucketCount);
  /** How many vbuckets are not confirmed. It is counted because it is read after every received piece of the stream. */
  private unconfirmed = vbucketCount;
  /**
   * The end of a vbucket's first snapshot as it was announced first; Infinity before it is announced; 0 where the index had changes
   * already. Up to this seqno each document is received once. If the snapshot is extended, its further changes may be of the same documents.
   */
  private readonly firstSnapshotEnd = new Float64Array(vbucketCount);
  /** Vbuckets whose position has changed since the last commit. */
  private readonly moved = new VbucketSet();
  /** Vbuckets whose position has changed since the last publication. */
  private readonly unpublished = new VbucketSet();
  /** Rows of documents in first snapshots, which the file has not staged yet. */
  private staging: DocumentRows[] = [];
  /** Rows of later changes, for the next commit. */
  private pending: DocumentRows[] = [];
  /** The seqnos that a build must reach; null: not known yet, or no build. */
  private target: Float64Array | null = null;
  /** The number of vbuckets that have not reached the target. */
  private vbucketsBehind = 0;

  constructor({ definition, compiled, file, stageBytesMax, progress }: FollowedIndexOptions) {
    this.definition = definition;
    this.file = file;
    this.stageBytesMax = stageBytesMax;
    this.rowMaker = new RowMaker(compiled);
    this.progress = progress ?? new IndexProgress();
    this.positions = new VbPositions(file.positions());
    for (let vb = 0; vb < vbucketCount; vb++) this.setProgress(vb);
    this.progress.setRows(file.rows);
    this.progress.setComplete(file.isBuilt);
    this.progress.publish();
  }

  get collectionId(): number {
    return this.definition.keyspace.collectionId;
  }

  get isBuilt(): boolean {
    return this.file.isBuilt;
  }

  /** From 0 to 1. */
  get buildProgress(): number {
    if (this.isBuilt) return 1;
    if (this.target === null) return 0;
    const total = sum(this.target);
    if (total === 0) return 1;
    return sum(this.target.map((end, vb) => Math.min(end, numberAt(this.positions.seqno, vb)))) / total;
  }

  /** True when a build needs its target seqnos and all streams are open: seqnos that were read earlier could be of a history that has ended. */
  get needsTarget(): boolean {
    return this.unconfirmed === 0 && this.target === null && !this.isBuilt;
  }

  /** Whether the index has processed changes of any vbucket. */
  get hasChanges(): boolean {
    return this.positions.seqno.some((seqno) => seqno > 0);
  }

  get leftOut(): number {
    return this.rowMaker.leftOut;
  }

  /** Documents processed and not yet committed. */
  get uncommitted(): number {
    return this.pending.length + this.staging.length;
  }

  /** True when rows should be committed; those of a build wait until they are many or all. */
  get isCommitDue(): boolean {
    const { stagedBytes } = this.file;
    const isBuilding = !this.isBuilt && !this.isComplete;
    if (isBuilding && stagedBytes > 0)
      return stagedBytes >= this.stageBytesMax || this.pending.length >= pendingMax;
    return this.uncommitted > 0 || stagedBytes > 0 || this.isComplete;
  }

  positionOf(vb: number): StreamPosition {
    return this.positions.stream(vb);
  }

  seqno(vb: number): number {
    return numberAt(this.positions.seqno, vb);
  }

  uuid(vb: number): bigint {
    return this.positions.uuid[vb] as bigint;
  }

  /** False if the indexed changes of this vbucket are not part of the history that the failover log describes. */
  isWithin(vb: number, log: readonly FailoverEntry[]): boolean {
    const seqno = this.seqno(vb);
    if (seqno === 0) return true;
    const index = log.findIndex(({ uuid }) => uuid === this.uuid(vb));
    const next = log[index - 1];
    return index >= 0 && (next === undefined || seqno <= next.seqno);
  }

  /** Returns true if the vbucket has another history than before: the target of a build is then unknown. */
  opened(vb: number, uuid: bigint): boolean {
    const { positions } = this;
    const isOther = positions.uuid[vb] !== 0n && positions.uuid[vb] !== uuid;
    if (isOther) this.target = null;
    this.firstSnapshotEnd[vb] = this.seqno(vb) === 0 ? Infinity : 0;
    this.setConfirmed(vb, 1);
    positions.uuid[vb] = uuid;
    this.markMoved(vb);
    return isOther;
  }

  /** Marks a vbucket (or all) as unconfirmed until its stream is open again: the data service may have another history. */
  markUnconfirmed(vb?: number): void {
    for (let marked = vb ?? 0; marked < (vb === undefined ? vbucketCount : vb + 1); marked++) {
      this.setConfirmed(marked, 0);
      this.setProgress(marked);
    }
  }

  snapshot(vb: number, start: number, end: number): void {
    if (this.firstSnapshotEnd[vb] === Infinity) this.firstSnapshotEnd[vb] = end;
    this.positions.beginSnapshot(vb, start, end);
  }

  change(change: Change): void {
    const { vb, seqno } = change;
    const isFirst = seqno <= numberAt(this.firstSnapshotEnd, vb);
    if (!this.move(vb, seqno)) return;
    if (change.collectionId !== this.collectionId) return;
    this.changes++;
    const id = Buffer.from(change.keyBytes);
    const isIndexed = change.kind === 'mutation' && (change.isJson || !isTransactionRecordKey(change.key));
    const keys = isIndexed ? this.rowMaker.keysOf(this.document.read(change), id) : [];
    if (!isFirst) this.pending.push({ id, keys });
    else if (keys.length > 0) this.staging.push({ id, keys });
  }

  /**
   * Moves the position: up to `seqno` the vbucket has no further change of this collection. Returns false if the position was already there, or if
   * the vbucket is unconfirmed.
   */
  move(vb: number, seqno: number): boolean {
    const { positions } = this;
    if (this.confirmed[vb] === 0) return false;
    const before = numberAt(positions.complete, vb);
    if (!positions.advance(vb, seqno)) return false;
    this.markMoved(vb);
    if (numberAt(positions.complete, vb) === seqno) this.completed(vb, before);
    return true;
  }

  /** Passes buffered rows to the file, which stores them outside of the heap. */
  stage(): void {
    if (this.staging.length === 0) return;
    const documents = this.staging;
    // Empty before the call, since the file keeps the documents also if it throws.
    this.staging = [];
    this.file.stage(documents);
  }

  /** Commits rows and positions and wakes waiting scans. After a throw nothing has changed, and the call can be repeated. */
  commit(): void {
    this.stage();
    const { file, progress } = this;
    const positions = Array.from(this.moved.values(), (vb) => this.positions.stored(vb));
    file.commit(this.pending, positions);
    this.pending = [];
    if (this.isComplete) {
      file.markBuilt();
      progress.setComplete(true);
      this.target = null;
    }
    this.moved.clear();
    progress.setRows(file.rows);
    this.publishPositions();
  }

  /** Publishes positions that moved without rows; the file gets them with the next commit. */
  publish(): void {
    if (this.unpublished.size === 0 || this.uncommitted > 0 || this.file.stagedBytes > 0) return;
    this.publishPositions();
  }

  /** Sets the target of a build: the newest seqnos of its collection. */
  buildUntil(seqnos: Float64Array): void {
    const { complete } = this.positions;
    this.target = seqnos;
    this.vbucketsBehind = seqnos.reduce((count, end, vb) => count + Number(numberAt(complete, vb) < end), 0);
  }

  /** Removes the rows of some vbuckets: the index is incomplete until it has indexed them again. */
  discard(vbuckets: ReadonlySet<number>): void {
    this.stage();
    if (this.file.stagedBytes > 0 || this.pending.length > 0) this.commitAsIncomplete();
    this.progress.setComplete(false);
    this.file.remove(vbuckets.size === vbucketCount ? null : vbuckets);
    for (const vb of vbuckets) {
      this.positions.clear(vb);
      this.setConfirmed(vb, 0);
      this.moved.delete(vb);
      this.unpublished.delete(vb);
      this.setProgress(vb);
    }
    this.target = null;
    this.progress.setRows(this.file.rows);
    this.progress.publish();
  }

  close(): void {
    try {
      if (this.file.stagedBytes === 0 && this.uncommitted === 0 && this.moved.size > 0) this.commit();
    } finally {
      // A removed file takes its space until it is closed.
      this.file.close();
    }
  }

  private get isComplete(): boolean {
    return this.target !== null && this.vbucketsBehind === 0;
  }

  private commitAsIncomplete(): void {
    this.target = null;
    this.commit();
  }

  /** Counts the vbucket if it has reached the target of a build. `before`: the end of its last complete snapshot before this one. */
  private completed(vb: number, before: number): void {
    const end = this.target?.[vb] ?? 0;
    if (before < end && numberAt(this.positions.complete, vb) >= end) this.vbucketsBehind--;
  }

  private setConfirmed(vb: number, isConfirmed: 0 | 1): void {
    this.unconfirmed += (this.confirmed[vb] as number) - isConfirmed;
    this.confirmed[vb] = isConfirmed;
  }

  private markMoved(vb: number): void {
    this.moved.add(vb);
    this.unpublished.add(vb);
  }

  private publishPositions(): void {
    for (const vb of this.unpublished.values()) this.setProgress(vb);
    this.unpublished.clear();
    this.progress.publish();
  }

  private setProgress(vb: number): void {
    const { positions } = this;
    this.progress.setPosition(vb, {
      completeSeqno: this.confirmed[vb] === 1 ? numberAt(positions.complete, vb) : unknownSeqno,
      uuid: positions.uuid[vb] as bigint,
    });
  }
}

const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);
