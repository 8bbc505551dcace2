// Entry point of the data thread: runs the data service, executes the calls of KvAdmin from the main thread, and sends log lines there.
import { availableParallelism } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { realKdf } from '#auth/kdf.host.ts';
import { assert } from '#base/assert.ts';
import { realClock } from '#ports/clock.ts';
import { raiseInliningBudget } from '#ports/inlining.ts';
import { forwardingLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { releaseMemoryWhenIdle } from '#ports/spare-memory.ts';
import type { KvAdmin } from '../admin.ts';
import { workerDiskEngine } from '../disk/hosts/worker-engine.ts';
import { HeavyThread } from '../heavy/hosts/heavy-thread.ts';
import { DataService } from './data-service.ts';
import type { DataThreadInput, ThreadCall, ThreadCallFailure, ThreadMessage } from './thread-messages.ts';

assert(parentPort !== null, 'the data service does not run in a worker thread');
const port = parentPort;
const sendMessage = (message: ThreadMessage): void => port.postMessage(message);

const log = forwardingLog('kv', sendMessage);
const disk = workerDiskEngine({}, (thread, reason) => log.error('disk.thread_failed', { thread, reason }));
const service = new DataService({
  clock: realClock,
  random: realRandom,
  log,
  kdf: realKdf,
  disk,
  heavy: new HeavyThread(realClock),
  processors: availableParallelism(),
  activityCounter: workerData as DataThreadInput,
  onSecondClient: raiseInliningBudget,
  loginRefused: (login) => sendMessage({ kind: 'login refused', login }),
  askExternal: (login) => sendMessage({ kind: 'external login', login }),
  askMapChange: (request) => sendMessage({ kind: 'map change', request }),
});

port.on('message', (call: ThreadCall) => void answer(call));
// The documents are not on the heap. What remains there after a busy period is mostly compiled code that will be needed again and that a
// collection may drop, so the heap must have grown by more than usual to be collected.
releaseMemoryWhenIdle({ growthBytes: 6 << 20, release: () => disk.cutMemory.dropFree() });

async function answer({ id, method, args }: ThreadCall): Promise<void> {
  try {
    const act = service[method] as (...args: unknown[]) => Promise<unknown>;
    sendMessage({ kind: 'result', id, result: await act.apply(service, args) });
  } catch (error) {
    sendMessage({ kind: 'failure', id, failure: failureOf(error) });
  }
  if (method === ('stop' satisfies keyof KvAdmin)) port.close();
}

function failureOf(error: unknown): ThreadCallFailure {
  const message = error instanceof Error ? error.message : String(error);
  return { message, code: (error as NodeJS.ErrnoException).code };
}
