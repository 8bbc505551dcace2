// Decides when a bucket's changes are written to disk: per file at most one commit at a time, each with the changes that accumulated during the
// one before. A commit writes cuts: the newest versions of a vbucket's changed keys, with the vbucket's state (seqnos, failover log, epoch).
import { fileOf } from '../../data/disk-engine.ts';
import { BatchEncoder } from './batch-encoder.ts';
import { BatchWriter } from './batch-writer.ts';
import { type FileState, newFileState, vbucketsOfFile } from './file-state.ts';
import {
  type DirtyBytes,
  delayMs,
  hasBatch,
  hasWaitedForHandover,
  isUnderLoad,
  loadAfter,
  mayDeferReplicated,
  mayDelayAgain,
  mayWaitForHandover,
} from './flush-delay.ts';
import type { DelayedDiskWork, FlusherOptions } from './flusher-options.ts';
import { UrgentRelease } from './urgent-release.ts';

/** Interval of retries while the disk is full. */
const fullRetryMs = 500;

export class Flusher {
  private readonly options: FlusherOptions;
  private readonly files: FileState[];
  private readonly encoder: BatchEncoder;
  private isPaused = true;
  private readonly batches: BatchWriter;
  /** The calls of `writeStatesNow` that have not ended. */
  private readonly stateWrites = new Set<Promise<unknown>>();
  /** Changes since the start, also those that are written. */
  queuedTotal = 0;
  /** Which work waits for a handover: requests wait for the disk, or soon will, because this node is about to write the epoch of a shard. */
  private delayed: DelayedDiskWork = { flushes: false, checkpoints: false };

  constructor(options: FlusherOptions) {
    this.options = options;
    const { bucketUuid, clock, columns, disk, fileCount } = options;
    this.encoder = new BatchEncoder(options);
    this.files = Array.from({ length: fileCount }, (_, file) =>
      newFileState(
        vbucketsOfFile(file, fileCount, columns.count),
        new UrgentRelease(clock, async () => disk.endUrgent?.(bucketUuid, file)),
        disk.cutMemory,
      ),
    );
    this.batches = new BatchWriter(options, this.files, (file) => {
      // The disk is full. If a write of states found that, no flush may be due that would retry.
      if (file.timer === null && file.running === null) this.startDelay(file);
    });
  }

  /** Bytes of cuts not yet committed. */
  get bytes(): number {
    return this.files.reduce((sum, { writer }) => sum + writer.bytes, this.batches.bytes);
  }

  /** Called at every change. */
  noteDirty(vb: number, isUrgent: boolean): void {
    this.queuedTotal++;
    const file = this.files[fileOf(vb, this.files.length)] as FileState;
    file.changes++;
    if (isUrgent && !file.isUrgent) this.commitSoon(file);
    else if (file.timer === null && file.running === null) this.startDelay(file);
  }

  /** Called when a client polls how far this vbucket is persisted: the vbucket is written at once. */
  writeSoon(vb: number): void {
    const file = this.files[fileOf(vb, this.files.length)] as FileState;
    if (!file.isUrgent && this.options.cutter.hasChanges(vb)) this.commitSoon(file);
  }

  resume(): void {
    this.isPaused = false;
    for (const file of this.files) {
      // A client began to wait during the pause. A full disk is tried again after a delay.
      if (file.isUrgent && !file.isFull) this.commitSoon(file);
      else if (this.hasWork(file)) this.startDelay(file);
      file.urgentRelease.resume();
    }
  }

  /** Prevents new commits, and waits for those under way. */
  async pause(): Promise<void> {
    this.isPaused = true;
    for (const file of this.files) {
      this.stopTimer(file);
      file.urgentRelease.pause();
    }
    await Promise.all(this.files.map((file) => file.running));
  }

  delay(delayed: DelayedDiskWork): void {
    const { bucketUuid, disk } = this.options;
    const { checkpoints } = delayed;
    // The call is rejected if the bucket was closed: the close has ended the delay.
    if (checkpoints !== this.delayed.checkpoints)
      disk.delayCheckpoints?.(bucketUuid, checkpoints).catch(() => {});
    this.delayed = delayed;
  }

  /** Forgets failures and the batches that are not written. Called when the files were replaced by new ones, or are removed. */
  discardFailures(): void {
    for (const file of this.files) {
      file.failure = null;
      this.batches.drop(file);
    }
  }

  /** Writes all dirty items of the files that take commits. Used while paused. */
  async drain(): Promise<void> {
    await Promise.all(this.files.map((file) => this.drainFile(file)));
  }

  /**
   * Writes the states of vbuckets, dirty or not, once earlier calls have written theirs. Resolves with the vbuckets whose state is on
   * disk. Used while paused.
   */
  async writeStates(vbs: readonly number[]): Promise<readonly number[]> {
    await this.statesWritten();
    return (await Promise.all(this.files.map((file) => this.writeFileStates(file, vbs)))).flat();
  }

  /**
   * As `writeStates`, while commits go on: after the cuts that are already taken. `withChanges`: writes all dirty items of these vbuckets, too;
   * without them the call takes little more than a sync.
   */
  async writeStatesNow(vbs: readonly number[], withChanges: boolean): Promise<readonly number[]> {
    const written = Promise.all(this.files.map((file) => this.writeFileStates(file, vbs, withChanges)));
    this.stateWrites.add(written);
    try {
      return (await written).flat();
    } finally {
      this.stateWrites.delete(written);
    }
  }

  /**
   * Resolves when the calls of `writeStatesNow` under way have ended. Such a call encodes changes in several turns and the states last: its states
   * would be written after a removal or a rollback that began meanwhile.
   */
  async statesWritten(): Promise<void> {
    await Promise.all(this.stateWrites);
  }

  private async writeFileStates(
    file: FileState,
    vbs: readonly number[],
    withChanges = true,
  ): Promise<readonly number[]> {
    const ofFile = vbs.filter((vb) => fileOf(vb, this.files.length) === this.files.indexOf(file));
    if (ofFile.length > 0) await this.commitStates(file, ofFile, withChanges);
    if (file.running === null) this.releaseUnused(file);
    return file.failure === null && !file.isFull ? ofFile : [];
  }

  /**
   * A cut states that everything before it is on disk. So no cut is taken while a batch is not on disk, and the states are written after
   * that batch.
   */
  private async commitStates(file: FileState, vbs: readonly number[], withChanges = true): Promise<void> {
    if (file.isFull) await this.batches.writeInTurn(file);
    if (file.failure !== null) return;
    if (withChanges) await this.writeChanges(file, vbs);
    for (const vb of vbs) file.statesDue.add(vb);
    if (file.isFull) return;
    this.encoder.encodeStates(file, file.statesDue, withChanges);
    file.statesDue.clear();
    await this.batches.commit(file, false);
  }

  /** Most changes of these vbuckets are written before their states, in batches of their own: all at once would delay clients. */
  private async writeChanges(file: FileState, vbs: readonly number[]): Promise<void> {
    const upTo = this.encoder.highSeqnos(vbs);
    while (!file.isFull && file.failure === null && (await this.encoder.encodeMost(file, upTo)))
      await this.batches.commit(file, false);
  }

  private async drainFile(file: FileState): Promise<void> {
    file.defersReplicated = false;
    do await this.commitNext(file, false);
    while (file.failure === null && !file.isFull && (this.hasDirty(file) || file.ends.length > 0));
    // Another caller's write of states, with dirty items, is a separate batch.
    await file.writing;
    this.releaseUnused(file);
  }

  private startDelay(file: FileState): void {
    if (this.isPaused || file.failure !== null) return;
    file.changes = 0;
    const ms = file.isFull ? fullRetryMs : delayMs[this.options.priority];
    file.timer = this.options.clock.after(ms, () => this.delayEnded(file));
  }

  private delayEnded(file: FileState): void {
    file.delays++;
    file.load = loadAfter(file.load, file.changes);
    file.isLoaded = isUnderLoad(file.load);
    if (this.mayDelay(file)) this.startDelay(file);
    else {
      const hadDeferred = file.deferredSinceMs !== null;
      this.decideDeferral(file);
      // The deferred changes have waited long enough: all are written, even if they are more than a batch.
      const writesDeferred = hadDeferred && !file.defersReplicated;
      const hasWaited = hasWaitedForHandover(file);
      file.unvisitedVbuckets = file.isLoaded || writesDeferred || hasWaited ? file.vbs.length : 0;
      file.writesRound = hasWaited;
      this.run(file);
    }
  }

  /** Decides whether the flush that is due defers the changes that other nodes have in memory, too. */
  private decideDeferral(file: FileState): void {
    const { clock, priority } = this.options;
    this.encoder.checkReplicated(file);
    const nowMs = clock.monotonicMs();
    const sinceMs = file.deferredSinceMs ?? nowMs - file.delays * delayMs[priority];
    const { load } = file;
    file.defersReplicated = mayDeferReplicated({ load, ageMs: nowMs - sinceMs, priority }, this.dirty(file));
    file.deferredSinceMs = file.defersReplicated ? sinceMs : null;
  }

  private mayDelay(file: FileState): boolean {
    const dirty = this.dirty(file);
    const waits = this.delayed.flushes && mayWaitForHandover(file, dirty);
    return !file.isFull && (waits || mayDelayAgain(file, this.options.priority, dirty));
  }

  private dirty(file: FileState): DirtyBytes {
    const { bytes, due } = this.encoder.dirty(file);
    const room = this.options.roomBytes();
    return { bytes, due, ofRoom: room > 0 ? (bytes * this.files.length) / room : Infinity };
  }

  /** A client waits: commit after the current input is processed, so that its writes share one commit. */
  private commitSoon(file: FileState): void {
    file.isUrgent = true;
    file.defersReplicated = false;
    if (this.isPaused || file.running !== null || file.isFull) return;
    this.stopTimer(file);
    this.options.clock.soon(() => this.run(file));
  }

  private run(file: FileState): void {
    this.stopTimer(file);
    file.delays = 0;
    if (this.isPaused || file.failure !== null || file.running !== null) return;
    file.running = this.commitWhileNeeded(file).finally(() => {
      file.running = null;
      if (!this.hasWork(file)) {
        file.deferredSinceMs = null;
        this.releaseUnused(file);
      } else if (file.timer === null) this.startDelay(file);
    });
  }

  /** Frees the memory of the writer, unless it holds cuts of a write of states that is still encoding. */
  private releaseUnused({ ends, writer }: FileState): void {
    if (ends.length === 0) writer.release();
  }

  private async commitWhileNeeded(file: FileState): Promise<void> {
    do {
      await (file.isUrgent ? this.commitInTurn(file) : this.commitNext(file, false));
    } while (!this.isPaused && file.failure === null && !file.isFull && this.continues(file));
  }

  private continues(file: FileState): boolean {
    if (file.isUrgent || (file.writesRound && file.unvisitedVbuckets > 0)) return true;
    const dirty = this.dirty(file);
    if (this.delayed.flushes && mayWaitForHandover(file, dirty)) {
      file.unvisitedVbuckets = 0;
      return false;
    }
    if (file.unvisitedVbuckets > 0) return true;
    if (!hasBatch(file, dirty)) return false;
    file.defersReplicated = false;
    return true;
  }

  private async commitInTurn(file: FileState): Promise<void> {
    const { bucketUuid, disk } = this.options;
    const end = await disk.queueUrgent?.(bucketUuid, this.files.indexOf(file));
    try {
      file.isUrgent = false;
      // The change that the client waits for may come after a whole batch of others.
      file.unvisitedVbuckets = file.vbs.length;
      file.writesRound = true;
      await this.commitNext(file, true);
    } finally {
      end?.();
    }
    file.urgentRelease.note();
  }

  private async commitNext(file: FileState, isUrgent: boolean): Promise<void> {
    if (file.failure !== null) return;
    if (file.isFull || file.statesDue.size > 0) await this.commitStates(file, []);
    else {
      await this.encoder.encodeBatch(file);
      await this.batches.commit(file, isUrgent);
    }
  }

  private hasDirty(file: FileState): boolean {
    return file.failure === null && this.encoder.hasDirty(file);
  }

  private hasWork(file: FileState): boolean {
    return file.isFull || file.statesDue.size > 0 || this.hasDirty(file);
  }

  private stopTimer(file: FileState): void {
    file.timer?.cancel();
    file.timer = null;
  }
}
