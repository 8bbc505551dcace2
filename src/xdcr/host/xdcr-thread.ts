// Entry of the XDCR thread: it starts with a node's first replication, and reports to the main thread.
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '#base/assert.ts';
import { type Deferred, deferred } from '#base/deferred.ts';
import { rest } from '#client/rest.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { forwardingLog } from '#ports/log.ts';
import { releaseMemoryWhenIdle } from '#ports/spare-memory.ts';
import { XdcrService } from '../run/xdcr-service.ts';
import { readTargetMap } from '../target/read-map.ts';
import type { ShardCheckpoint } from '../xdcr.contract.ts';
import type { XdcrThreadCall, XdcrThreadData, XdcrThreadMessage } from './thread-messages.ts';

assert(parentPort !== null, 'replication between clusters runs in a worker thread');
const port = parentPort;
const source = workerData as XdcrThreadData;
const sendMessage = (message: XdcrThreadMessage): void => port.postMessage(message);
const waiting = new Map<number, Deferred<readonly ShardCheckpoint[]>>();
let lastId = 0;
let isStopping = false;

const service = new XdcrService({
  source,
  clock: realClock,
  log: forwardingLog('xdcr', sendMessage),
  readMap: (access, bucket) => readTargetMap(rest, access, bucket),
  checkpoints: {
    load: (replication) => askMain((id) => ({ kind: 'load', id, replication })),
    save: async (replication, checkpoint) => {
      await askMain((id) => ({ kind: 'save', id, replication, checkpoint }));
    },
  },
});

port.on('message', (call: XdcrThreadCall) => void handle(call));
releaseMemoryWhenIdle({ growthBytes: 4 << 20 });
void reportRepeatedly();

function askMain(message: (id: number) => XdcrThreadMessage): Promise<readonly ShardCheckpoint[]> {
  const id = ++lastId;
  const answer = deferred<readonly ShardCheckpoint[]>();
  waiting.set(id, answer);
  sendMessage(message(id));
  return answer.promise;
}

async function handle(call: XdcrThreadCall): Promise<void> {
  if (call.kind === 'apply') {
    await service.apply(call.wanted);
    await report();
  } else if (call.kind === 'cluster') service.followCluster(call.layout);
  else if (call.kind === 'checkpoints') {
    const answer = waiting.get(call.id);
    waiting.delete(call.id);
    if (call.failure === null) answer?.resolve(call.found);
    else answer?.reject(new Error(call.failure));
  } else await stop();
}

async function reportRepeatedly(): Promise<void> {
  while (!isStopping) {
    await realClock.sleep(service.reportMs);
    await report();
  }
}

async function report(): Promise<void> {
  sendMessage({ kind: 'report', replications: await service.report() });
}

async function stop(): Promise<void> {
  isStopping = true;
  await service.stop();
  sendMessage({ kind: 'stopped' });
  port.close();
}
