// How far a restore of one bucket got: the vbuckets that are restored, and the position of each in its target buckets. A resumed restore
// continues after the last of them, also if they have moved to other nodes since, or with the first of them whose documents the target lost.
import { StatusError } from '#client/data-port-error.ts';
import { stillHolds } from '#client/reached-position.ts';
import type { ProgressFile, ReachedSeqno } from './progress-file.adapter.ts';

/** What a target bucket says about its vbuckets. */
export interface TargetHistories {
  readonly uuid: string;
  /** The uuid of the newest history of every vbucket. */
  uuids(): Promise<BigUint64Array>;
  highSeqnos(): Promise<Float64Array>;
  failoverLogs(vbuckets: readonly number[]): Promise<ReadonlyMap<number, { uuid: bigint; seqno: number }[]>>;
}

interface Target {
  readonly histories: TargetHistories;
  /** Read before the first write: a later history may lack what was written. */
  readonly uuids: BigUint64Array;
  /** By vbucket; those below `next`. */
  reached: ReachedSeqno[];
}

export class RestoreProgress {
  /** The first vbucket that is not restored. */
  next = 0;
  private readonly file: ProgressFile;
  private readonly targets: readonly Target[];

  private constructor(file: ProgressFile, targets: readonly Target[]) {
    this.file = file;
    this.targets = targets;
  }

  static async open(
    file: ProgressFile,
    targets: readonly TargetHistories[],
    resumes: boolean,
  ): Promise<RestoreProgress> {
    const opening = targets.map(async (histories) => ({
      histories,
      uuids: await histories.uuids(),
      reached: [],
    }));
    const progress = new RestoreProgress(file, await Promise.all(opening));
    if (resumes) await progress.continue();
    return progress;
  }

  /** Call when the targets have acknowledged all writes of the vbuckets below `next`. */
  async note(next: number): Promise<void> {
    for (const { histories, uuids, reached } of this.targets) {
      const highs = await highSeqnosOf(histories);
      if (highs !== null)
        for (let vb = reached.length; vb < next; vb++) reached.push([String(uuids[vb]), highs[vb] ?? 0]);
    }
    this.next = next;
    const reached = Object.fromEntries(this.targets.map((target) => [target.histories.uuid, target.reached]));
    this.file.write({ next, reached });
  }

  private async continue(): Promise<void> {
    const recorded = this.file.read();
    let { next } = recorded;
    for (const target of this.targets) {
      target.reached = [...(recorded.reached[target.histories.uuid] ?? [])].slice(0, next);
      next = await heldUntil(target.histories, target.reached);
    }
    for (const target of this.targets) target.reached.length = next;
    this.next = next;
  }
}

/** Null if the user may not read them: such a restore begins again when it is resumed. */
async function highSeqnosOf(histories: TargetHistories): Promise<Float64Array | null> {
  try {
    return await histories.highSeqnos();
  } catch (error) {
    if (error instanceof StatusError) return null;
    throw error;
  }
}

/** The first vbucket that does not have what it had, or how many were reached. */
async function heldUntil(histories: TargetHistories, reached: readonly ReachedSeqno[]): Promise<number> {
  if (reached.length === 0) return 0;
  const [logs, highs] = await Promise.all([
    histories.failoverLogs([...reached.keys()]),
    histories.highSeqnos(),
  ]);
  const lost = reached.findIndex(([uuid, seqno], vb) => {
    const history = { log: logs.get(vb) ?? [], high: highs[vb] ?? 0 };
    return !stillHolds({ uuid: BigInt(uuid), seqno }, history);
  });
  return lost < 0 ? reached.length : lost;
}
