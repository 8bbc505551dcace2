// Entry of the thread that runs the jobs of the backup service, at low priority, so that readers and writers of documents come first.
import { parentPort } from 'node:worker_threads';
import { assert } from '#base/assert.ts';
import { realClock } from '#ports/clock.ts';
import { lowerPriority } from '#ports/low-priority.ts';
import { releaseMemoryWhenIdle } from '#ports/spare-memory.ts';
import { isInUseError } from '../archive/unlocked-reads.adapter.ts';
import type { JobProgress } from './jobs.ts';
import { KnownCluster } from './known-cluster.ts';
import { runJob } from './run-job.adapter.ts';
import type { BackupThreadCall, BackupThreadMessage } from './thread-messages.ts';

assert(parentPort !== null, 'jobs of the backup service run in a worker thread');
const port = parentPort;
const progressEveryMs = 500;
const cluster = new KnownCluster(realClock);
const running = new Map<number, { readonly cancelled: AbortController; readonly ended: Promise<void> }>();

lowerPriority();
port.on('message', (call: BackupThreadCall) => void handle(call));
releaseMemoryWhenIdle({ growthBytes: 4 << 20 });

async function handle(call: BackupThreadCall): Promise<void> {
  if (call.kind === 'run') begin(call);
  else if (call.kind === 'cluster') cluster.follow(call.layout);
  else if (call.kind === 'cancel') running.get(call.id)?.cancelled.abort(new Error(call.reason));
  else await stop();
}

function begin(call: Extract<BackupThreadCall, { kind: 'run' }>): void {
  const cancelled = new AbortController();
  const ended = run(call, cancelled.signal).finally(() => running.delete(call.id));
  running.set(call.id, { cancelled, ended });
}

async function run(
  { id, job }: Extract<BackupThreadCall, { kind: 'run' }>,
  signal: AbortSignal,
): Promise<void> {
  try {
    const result = await runJob(job, { signal, cluster, progress: throttledProgress(id) });
    send({ kind: 'done', id, result });
  } catch (error) {
    const reason = (error as Error).message;
    send({ kind: 'failed', id, reason, isInUse: isInUseError(error as Error) });
  }
}

/** Jobs report after each batch; a message for each would occupy the main thread. */
function throttledProgress(id: number): (state: JobProgress) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (state) => {
    const nowMs = realClock.monotonicMs();
    if (nowMs - lastMs < progressEveryMs) return;
    lastMs = nowMs;
    send({ kind: 'progress', id, state });
  };
}

/** An interrupted backup stays as a partial one, which the next task completes. */
async function stop(): Promise<void> {
  for (const { cancelled } of running.values()) cancelled.abort(new Error('the node stops'));
  await Promise.all([...running.values()].map(({ ended }) => ended));
  send({ kind: 'stopped' });
  port.close();
}

function send(message: BackupThreadMessage): void {
  port.postMessage(message);
}
