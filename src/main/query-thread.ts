// Entry of the query thread: the service on its ports, the engine (loaded with the first statement), scans over the index files.
import { parentPort } from 'node:worker_threads';
import { assert } from '#base/assert.ts';
import { loadedOnce } from '#base/loaded-once.ts';
import { forwardingLog } from '#ports/log.ts';
import { releaseMemoryWhenIdle } from '#ports/spare-memory.ts';
import { QueryHost } from '#query/host/query-host.ts';
import type { QueryCall, QueryMessage } from '#query/host/query-messages.ts';
import type { Engine } from '#query/state/engine-port.ts';
import { readMemory } from './memory-reads.ts';

assert(parentPort !== null, 'the query service runs in a worker thread');
const port = parentPort;
const sendMessage = (message: QueryMessage): void => port.postMessage(message);

/** Kept: resolving a module again costs more than a short statement. */
const loadEngine = loadedOnce(async (): Promise<Engine> => (await import('./query-engine.ts')).engine);

const host = new QueryHost({
  sendMessage,
  log: forwardingLog('query', sendMessage),
  engine: loadEngine,
  readMemory,
  connectIndexes: async (start, indexPort) =>
    (await import('./query-indexes.ts')).connectIndexFiles(start, indexPort),
});

port.on('message', (call: QueryCall) => {
  const done = host.handle(call);
  if (call.kind === 'stop') void done.then(() => port.close());
});
// Memory that the thread no longer uses returns to the operating system while the thread is idle.
releaseMemoryWhenIdle({ growthBytes: 6 << 20 });
