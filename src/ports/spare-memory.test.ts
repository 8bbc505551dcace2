import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

const module = JSON.stringify(new URL('./spare-memory.ts', import.meta.url).href);

/**
 * Reports whether a thread collected its garbage while it was busy or idle. The timer of a busy thread is due before each check, so the thread uses
 * processor time between two checks, even if the system did not schedule it for seconds. Collections that V8 starts by itself have flags, for
 * example that the thread is idle.
 */
async function garbageOf({ isBusy }: { isBusy: boolean }): Promise<string> {
  const worker = new Worker(
    `import(${module}).then(({ releaseMemoryWhenIdle }) => {
      const { constants, PerformanceObserver } = require('node:perf_hooks');
      const { NODE_PERFORMANCE_GC_MAJOR: major, NODE_PERFORMANCE_GC_FLAGS_NO: none } = constants;
      const say = (text) => require('node:worker_threads').parentPort.postMessage(text);
      const isOwn = ({ detail: { kind, flags } }) => kind === major && flags === none;
      const observer = new PerformanceObserver((list) => list.getEntries().some(isOwn) && say('collected'));
      observer.observe({ entryTypes: ['gc'] });
      releaseMemoryWhenIdle({ checkEveryMs: 500 });
      const work = Buffer.alloc(4 << 20);
      // About 50 ms of processor time: a thread with less than 5 between two checks is idle.
      const burn = () => {
        for (let round = 0; round < 320; round++) work.fill(work.fill(1).indexOf(2));
      };
      if (${isBusy}) setInterval(burn, 10);
      let seconds = 0;
      setInterval(() => ++seconds === ${isBusy ? 3 : 20} && say('kept'), 1_000);
    });`,
    { eval: true },
  );
  const message = await new Promise<string>((resolve) => worker.once('message', resolve));
  await worker.terminate();
  return message;
}

test('the garbage of an idle thread is collected', async () => {
  assert.equal(await garbageOf({ isBusy: false }), 'collected');
});

test('nothing is collected in a busy thread', async () => {
  assert.equal(await garbageOf({ isBusy: true }), 'kept');
});

test('collectGarbage collects the garbage of the calling thread at once', async () => {
  const worker = new Worker(
    `import(${module}).then(({ collectGarbage }) => {
      let garbage = new WeakRef({});
      // A WeakRef keeps its object until the end of the task that made it.
      setTimeout(() => {
        collectGarbage();
        require('node:worker_threads').parentPort.postMessage(garbage.deref() === undefined);
      });
    });`,
    { eval: true },
  );
  const [isCollected] = (await once(worker, 'message')) as [boolean];
  await worker.terminate();
  assert.equal(isCollected, true);
});

test('the collection in idle times does not keep a thread alive', async () => {
  const worker = new Worker(
    `import(${module}).then((found) => found.releaseMemoryWhenIdle({ checkEveryMs: 100 }))`,
    { eval: true },
  );
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  assert.equal(await Promise.race([ended, sleep(60_000, 'still running', { ref: false })]), 0);
});
