// Records how far each vbucket is replicated, together with what the target had then, while one link to the target is open. Notices when the
// target loses documents.
import { type Deferred, deferred } from '#base/deferred.ts';
import { type ReachedPosition, stillHolds } from '#client/reached-position.ts';
import type { VbProgress } from '../source/vb-progress.ts';
import type { TargetLink, TargetPosition } from '../target/target-link.ts';
import type { Checkpoints } from './checkpoints.ts';

export interface PositionRecorderOptions {
  readonly checkpoints: Checkpoints;
  readonly link: Pick<TargetLink, 'positions' | 'acknowledged'>;
  readonly vbuckets: readonly number[];
}

/** Vbuckets whose recorded positions of the target do not cover the last backfill. */
interface UncoveredBackfill {
  readonly vbuckets: Set<number>;
  readonly covered: Deferred<void>;
}

export class PositionRecorder {
  private readonly options: PositionRecorderOptions;
  /** By vbucket. */
  private progress: readonly VbProgress[] = [];
  private recording: Promise<void> | null = null;
  private uncovered: UncoveredBackfill | null = null;
  /** Last position of each vbucket of the target; a lower one later means that the target lost documents. */
  private readonly targetSeen = new Map<number, ReachedPosition>();
  private isClosed = false;

  constructor(options: PositionRecorderOptions) {
    this.options = options;
  }

  /**
   * Discards checkpoints of vbuckets that have lost writes at the target, by a crash, a flush or a new bucket: they are replicated from the start.
   * Those of vbuckets without an active at the target are kept: what a later active has is compared with them.
   */
  async discardLostCheckpoints(): Promise<void> {
    const { checkpoints, link, vbuckets } = this.options;
    const positions = await link.positions(vbuckets);
    for (const vb of vbuckets) {
      const recorded = checkpoints.get(vb);
      if (recorded === undefined) continue;
      const position = positions.get(vb);
      if (position === undefined) this.targetSeen.set(vb, recorded.target);
      else if (!stillHolds(recorded.target, position)) checkpoints.discard(vb);
    }
    this.setTargetSeen(positions);
  }

  /** Call before `record`: the progress of the vbuckets, by their ids. */
  follow(progress: readonly VbProgress[]): void {
    this.progress = progress;
  }

  /**
   * Records the replicated positions with those of the target, which are read later, so that they include what was replicated.
   * @throws Error when the target lost documents
   */
  record(): Promise<void> {
    this.recording ??= this.recordNow().finally(() => {
      this.recording = null;
    });
    return this.recording;
  }

  /**
   * Records the positions of the target, also for vbuckets that have had no change at the source since their last record. Resolves when all
   * are recorded: a vbucket without an active at the target has to get one first.
   */
  async recordBackfill(): Promise<void> {
    const uncovered = { vbuckets: new Set(this.options.vbuckets), covered: deferred<void>() };
    // A recording that began earlier may have read the target before the last documents.
    await this.recording?.catch(() => {}); // reported where it was started
    this.uncovered = uncovered;
    await this.record();
    await uncovered.covered.promise;
  }

  /** Resolves when nothing is being recorded any more. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.recording?.catch(() => {}); // reported where it was started
  }

  private async recordNow(): Promise<void> {
    const { link, vbuckets } = this.options;
    const { uncovered } = this;
    const sources = vbuckets.map((vb) => this.progress[vb]?.position());
    const acknowledged = vbuckets.map((vb) => link.acknowledged(vb));
    const positions = await link.positions(vbuckets);
    if (this.isClosed) return;
    vbuckets.forEach((vb, index) => {
      this.checkHeld(this.targetSeen.get(vb), positions.get(vb));
      this.checkHeld(acknowledged[index], positions.get(vb));
    });
    this.setTargetSeen(positions);
    vbuckets.forEach((vb, index) => {
      const target = positions.has(vb) ? this.targetSeen.get(vb) : undefined;
      const isCovered = this.recordVbucket(vb, sources[index], target, uncovered !== null);
      if (isCovered) uncovered?.vbuckets.delete(vb);
    });
    if (uncovered?.vbuckets.size !== 0) return;
    this.uncovered = null;
    uncovered.covered.resolve();
  }

  /** A flush of the target bucket, or a failover to a copy that lacks changes, is seen only here: neither ends the connections. */
  private checkHeld(reached: ReachedPosition | undefined, position: TargetPosition | undefined): void {
    if (reached !== undefined && position !== undefined && !stillHolds(reached, position))
      throw new Error('the target lost documents: what it lost is replicated again');
  }

  /** Returns whether the checkpoint of the vbucket, if it has one, now covers all that the target acknowledged. */
  private recordVbucket(
    vb: number,
    source: ReturnType<VbProgress['position']> | undefined,
    target: ReachedPosition | undefined,
    isAfterBackfill: boolean,
  ): boolean {
    const { checkpoints } = this.options;
    const last = checkpoints.get(vb)?.source;
    if (source === undefined || target === undefined) return last === undefined;
    if (source.seqno === 0) {
      // The source lost all of its changes.
      if (last !== undefined) checkpoints.discard(vb);
      return true;
    }
    const hasMoved = last === undefined || source.seqno > last.seqno || source.uuid !== last.uuid;
    if (hasMoved || isAfterBackfill) checkpoints.set(vb, { source, target });
    return true;
  }

  private setTargetSeen(positions: ReadonlyMap<number, TargetPosition>): void {
    for (const [vb, { log, high }] of positions)
      this.targetSeen.set(vb, { uuid: log[0]?.uuid ?? 0n, seqno: high });
  }
}
