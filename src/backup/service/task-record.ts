// A run of a task, as the history keeps it and the API shows it.
import { type Clock, nextTurn } from '#ports/clock.ts';
import type { BucketFigures } from '../host/jobs.ts';
import { localTimeText } from './schedule.ts';

export type TaskType = 'BACKUP' | 'MERGE' | 'RESTORE';
export type TaskStatus = 'running' | 'done' | 'failed';

export interface TaskRecord {
  /** Id of this run. */
  readonly run: string;
  readonly name: string;
  readonly type: TaskType;
  readonly isScheduled: boolean;
  readonly nodeId: string;
  readonly startMs: number;
  /** Null while it runs. */
  readonly endMs: number | null;
  readonly status: TaskStatus;
  /** Percent. */
  readonly progress: number;
  /** What the task does, as a text. */
  readonly about: string;
  readonly error: string;
  readonly notes: readonly string[];
  readonly buckets: readonly BucketFigures[];
  /** Address of the target of a restore. */
  readonly target: string;
}

/** A turn of the thread makes the text of this many tasks. */
const shownAtOnce = 200;
const neverText = '0001-01-01T00:00:00Z';
const failedCode = 1;

export function shownTask(record: TaskRecord) {
  const { name, status, type, error, target } = record;
  return {
    task_name: name,
    name,
    status,
    ...times(record),
    node_runs: [nodeRun(record)],
    error_code: status === 'failed' ? failedCode : 0,
    ...(error !== '' && { error }),
    type,
    ...(target !== '' && { target_cluster: target }),
  };
}

/** As JSON. */
export async function shownTasksText(
  records: readonly TaskRecord[],
  clock: Pick<Clock, 'soon'>,
): Promise<string> {
  const texts: string[] = [];
  for (const record of records) {
    texts.push(JSON.stringify(shownTask(record)));
    if (texts.length % shownAtOnce === 0) await nextTurn(clock);
  }
  return `[${texts.join(',')}]`;
}

const times = ({ startMs, endMs }: TaskRecord) => ({
  start: localTimeText(startMs),
  end: endMs === null ? neverText : localTimeText(endMs),
});

function nodeRun(record: TaskRecord) {
  const { nodeId, status, progress, error, run, about, buckets, notes } = record;
  const isComplete = status === 'done';
  const transfer = {
    description: about,
    stats: {
      buckets: Object.fromEntries(buckets.map((bucket) => [bucket.name, bucketStats(bucket, isComplete)])),
      complete: isComplete,
    },
    progress,
    ...(notes.length > 0 && { notes }),
  };
  return {
    node_id: nodeId,
    status,
    ...times(record),
    progress,
    stats: { id: run, current_transfer: 1, total_transfers: 1, transfers: [transfer], progress },
    error_code: status === 'failed' ? failedCode : 0,
    ...(error !== '' && { error }),
  };
}

const bucketStats = ({ documents, deletions, bytes }: BucketFigures, complete: boolean) => ({
  total_items: documents,
  tombstones: deletions,
  bytes_received: bytes,
  complete,
  errored: false,
});
