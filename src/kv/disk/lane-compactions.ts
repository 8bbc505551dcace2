// Runs compactions over lanes: a lane for copies makes the copy, and lives as long as any compaction runs; only the last pass
// and the switch run in the file's own lane, between two of its commits.

import type { CompactOptions, CompactResult, PurgedVbucket } from '../data/disk-engine.ts';
import type { DataFileSpec } from './adapters/file-format.ts';
import type { CopyPlan } from './adapters/sqlite-lane.ts';
import type { CopyPace } from './copy-pace.ts';
import type { Lane } from './lane.ts';
import type { LanePool } from './lane-pool.ts';

/** Called with the file that replaces the old one, before the result of any later commit to it arrives. */
export type FileSwitched = (spec: DataFileSpec) => void;

interface RunOptions extends CompactOptions {
  signal: AbortSignal;
  switched: FileSwitched;
}

interface Running {
  bucketUuid: string;
  file: number;
  ended: Promise<unknown>;
  cancellation: AbortController;
}

export class Compactions {
  private readonly copiers: LanePool;
  private readonly pace: CopyPace;
  private readonly running = new Set<Running>();
  private lastSwitch: Promise<unknown> = Promise.resolve();

  constructor(copiers: LanePool, pace: CopyPace) {
    this.copiers = copiers;
    this.pace = pace;
  }

  /** `lane` is the file's own. */
  run(
    lane: Lane,
    bucketUuid: string,
    file: number,
    options: CompactOptions,
    switched: FileSwitched,
  ): Promise<CompactResult> {
    if ([...this.running].some((other) => other.bucketUuid === bucketUuid && other.file === file)) {
      return Promise.reject(new Error(`file ${file} of bucket ${bucketUuid} is being compacted already`));
    }
    const cancellation = new AbortController();
    const signal = options.signal
      ? AbortSignal.any([options.signal, cancellation.signal])
      : cancellation.signal;
    const result = this.compact(lane, bucketUuid, file, { ...options, signal, switched });
    const entry = { bucketUuid, file, cancellation, ended: result.catch(() => {}) };
    this.running.add(entry);
    return result.finally(() => this.running.delete(entry));
  }

  isRunning(bucketUuid: string): boolean {
    return [...this.running].some((entry) => entry.bucketUuid === bucketUuid);
  }

  /** Cancels a bucket's compactions; resolves when they have ended. */
  async cancel(bucketUuid: string): Promise<void> {
    const ofBucket = [...this.running].filter((entry) => entry.bucketUuid === bucketUuid);
    for (const { cancellation } of ofBucket)
      cancellation.abort(new Error('the bucket is closed, or vbuckets are removed from it'));
    await Promise.all(ofBucket.map(({ ended }) => ended));
  }

  private async compact(
    lane: Lane,
    bucketUuid: string,
    file: number,
    options: RunOptions,
  ): Promise<CompactResult> {
    options.signal.throwIfAborted();
    const plan = await lane.call('planCopy', bucketUuid, file);
    try {
      const before = await lane.call('fileBytes', bucketUuid, file);
      const purged = await this.copyAndSwitch(lane, plan, options);
      const bytesAfter = await lane.call('fileBytes', bucketUuid, file);
      return { bytesBefore: before, bytesAfter, purged };
    } catch (error) {
      await lane.call('removeCopy', plan).catch(() => {});
      throw error;
    }
  }

  private async copyAndSwitch(lane: Lane, plan: CopyPlan, options: RunOptions): Promise<PurgedVbucket[]> {
    const copier = this.copiers.enter();
    const copyLane = copier.lane;
    try {
      await copyLane.call('beginCopy', plan, options.purgeBeforeSeconds);
      await this.copyPages(copyLane, plan, options);
      const state = await copyLane.call('suspendCopy', plan);
      return await this.inTurn(async () => {
        options.signal.throwIfAborted();
        const purged = await lane.call('switchFile', plan, state);
        options.switched(plan.target);
        return purged;
      });
    } finally {
      await copyLane.call('abandonCopy', plan).catch(() => {});
      await this.copiers.leave(copier);
    }
  }

  /** Files of a bucket in several lanes share one `files.json`, which each switch rewrites. */
  private inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.lastSwitch.then(act);
    this.lastSwitch = turn.catch(() => {});
    return turn;
  }

  private async copyPages(lane: Lane, plan: CopyPlan, { signal, progress }: RunOptions): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const step = await this.pace.page(() => lane.call('copyPage', plan), signal);
      progress?.(step.rowsCopied, step.rowsTotal);
      if (step.isFinished) return;
    }
  }
}
