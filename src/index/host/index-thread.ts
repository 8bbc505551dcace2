// Entry of the index thread: it starts with a node's first index, and reports changes to the main thread.
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '#base/assert.ts';
import { realClock, type Timer } from '#ports/clock.ts';
import { forwardingLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { releaseMemoryWhenIdle } from '#ports/spare-memory.ts';
import { DefinitionCompiler } from '../entries/definition-compiler.ts';
import type { WantedIndexes } from '../index.contract.ts';
import { IndexService } from '../service/index-service.ts';
import { IndexFolder } from '../store/index-folder.adapter.ts';
import { placeIndexFiles } from '../store/index-place.adapter.ts';
import type { IndexThreadCall, IndexThreadData, IndexThreadMessage } from './thread-messages.ts';

/** The interval of reports on build progress; states are reported at once. */
const progressEveryMs = 200;

assert(parentPort !== null, 'the index service runs in a worker thread');
const port = parentPort;
const { folder, address, account } = workerData as IndexThreadData;
const sendMessage = (message: IndexThreadMessage): void => port.postMessage(message);
const log = forwardingLog('index', sendMessage);

const compiler = new DefinitionCompiler();
let newest: WantedIndexes | null = null;
let isReportDue = false;
let isStopping = false;
let progress: Timer | null = null;

const service = new IndexService({
  address,
  account,
  clock: realClock,
  random: realRandom,
  log,
  store: new IndexFolder(folder, log),
  compile: (definition) => compiler.compile(definition),
  changed: reportSoon,
});

// A call that fails ends the thread, and the main thread starts another one (service-thread.ts).
port.on('message', (call: IndexThreadCall) => void handleCall(call));
releaseMemoryWhenIdle({ growthBytes: 4 << 20 });

async function handleCall(call: IndexThreadCall): Promise<void> {
  if (call.kind === 'apply') {
    // The files may move only while none is open, that is without indexes. There are indexes only on a provisioned node, whose place does not change.
    if (newest === null || newest.indexes.length === 0) placeIndexFiles(folder, call.wanted.place);
    reportSoon();
    newest = call.wanted;
    await compiler.prepare(call.wanted.indexes.map(({ definition }) => definition));
    if (isStopping || newest !== call.wanted) return;
    await service.apply(call.wanted);
    reportSoon();
  } else if (call.kind === 'cluster') await service.followCluster(call.layout);
  else if (call.kind === 'replace file') await service.replaceFile(call.bucketUuid, call.indexId);
  else if (call.kind === 'report') sendMessage({ kind: 'report', id: call.id, indexes: service.report() });
  else await stop();
}

/** Sends one report for all changes of one turn of the event loop. */
function reportSoon(): void {
  if (isReportDue) return;
  isReportDue = true;
  realClock.soon(() => {
    isReportDue = false;
    const indexes = service.report();
    sendMessage({ kind: 'report', indexes });
    const isBuilding = indexes.some(({ state }) => state === 'building');
    progress?.cancel();
    progress = isBuilding ? realClock.after(progressEveryMs, reportSoon) : null;
  });
}

async function stop(): Promise<void> {
  isStopping = true;
  progress?.cancel();
  await service.stop();
  sendMessage({ kind: 'stopped' });
  port.close();
}
