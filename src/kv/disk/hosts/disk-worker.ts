// The thread of a disk lane: processes requests in order, but small commits before large ones. Imports as little as it can, since every
// import costs memory and start time in every disk worker.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { assert } from '#base/assert.ts';
import { lowerPriority } from '#ports/low-priority.ts';
import { releaseMemoryWhenIdle } from '#ports/spare-memory.ts';
import { type CutBuffer, type DamagedFile, DamagedFileError, DiskFullError } from '../../data/disk-engine.ts';
import { SqliteLane } from '../adapters/sqlite-lane.ts';
import type { LaneArguments } from '../lane.ts';
import { takeNext } from './lane-queue.ts';
import type { LaneFailure, LaneReply, LaneRequest, LaneSettings } from './messages.ts';

assert(parentPort !== null, 'the disk worker does not run in a worker thread');
const port = parentPort;
if ((workerData as LaneSettings | null)?.isLowPriority) lowerPriority();
const lane = new SqliteLane({ monotonicMs: () => performance.now() });

/** Cuts came in shared memory, which is freed only once this thread has collected its references to it, too. */
let hasShared = false;

/** Requests that arrived and are not processed yet. */
const queue: LaneRequest[] = [];

port.on('message', (request: LaneRequest) => {
  queue.push(request);
  for (;;) {
    for (let found = receiveMessageOnPort(port); found; found = receiveMessageOnPort(port))
      queue.push(found.message as LaneRequest);
    const next = takeNext(queue);
    if (next !== undefined) answer(next);
    // Further files are checkpointed while no request waits.
    else if (!lane.checkpoint()) return;
  }
});
releaseMemoryWhenIdle({ release: forgetShared });

function answer(request: LaneRequest): void {
  const reply = serve(request);
  port.postMessage(reply, batchOf(reply));
  if (request.operation === 'commit') freeCuts(request.args);
  lane.checkpoint();
  if (request.operation === 'stop') port.close();
}

function serve({ id, operation, args }: LaneRequest): LaneReply {
  try {
    const act = lane[operation] as (...args: unknown[]) => unknown;
    return { id, result: act.apply(lane, args) };
  } catch (error) {
    return { id, failure: failureOf(error) };
  }
}

/** Frees the cuts at once: the garbage collector would free them only after tens of megabytes. Returned cuts are detached already. */
function freeCuts(args: readonly unknown[]): void {
  const { buffer } = args[2] as LaneArguments<'commit'>[2];
  if (!(buffer instanceof ArrayBuffer)) hasShared = true;
  else if (!buffer.detached) buffer.transfer(0);
}

/** Returns whether references to shared memory are garbage now. */
function forgetShared(): boolean {
  const hadShared = hasShared;
  hasShared = false;
  return hadShared;
}

function failureOf(error: unknown): LaneFailure {
  const message = error instanceof Error ? error.message : String(error);
  const damage = error instanceof DamagedFileError ? damageOf(error) : null;
  return { message, damage, cuts: error instanceof DiskFullError ? error.cuts : null };
}

const damageOf = ({ file, isLater, path, reason }: DamagedFileError): DamagedFile => ({
  file,
  path,
  reason,
  isLater,
});

/** The memory of a loaded page, or of returned cuts, is transferred to the client instead of being copied. */
function batchOf(reply: LaneReply): ArrayBuffer[] {
  const batch =
    'result' in reply ? (reply.result as { batch?: CutBuffer } | undefined)?.batch : reply.failure.cuts;
  return batch?.buffer instanceof ArrayBuffer ? [batch.buffer] : [];
}
