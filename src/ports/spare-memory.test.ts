import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

const module = JSON.stringify(new URL('./spare-memory.ts', import.meta.url).href);

/**
 * Reports whether a thread collected its garbage while it works or is idle. The intervals of the working one are longer: on a
 * machine with many processes a thread may get no processor for a tenth of a second, and seem idle.
 */
async function garbageOf({ isBusy }: { isBusy: boolean }): Promise<string> {
  const worker = new Worker(
    `import(${module}).then(({ releaseMemoryWhenIdle }) => {
      const garbage = new WeakRef({});
      releaseMemoryWhenIdle({ checkEveryMs: ${isBusy ? 500 : 100} });
      const work = Buffer.alloc(4 << 20);
      if (${isBusy}) setInterval(() => work.fill(work.fill(1).indexOf(2)), 10);
      const say = (text) => require('node:worker_threads').parentPort.postMessage(text);
      setInterval(() => garbage.deref() === undefined && say('collected'), 450);
      setTimeout(say, ${isBusy ? 2_600 : 20_000}, 'kept');
    });`,
    { eval: true },
  );
  const message = await new Promise<string>((resolve) => worker.once('message', resolve));
  await worker.terminate();
  return message;
}

test('collects the garbage of an idle thread', async () => {
  assert.equal(await garbageOf({ isBusy: false }), 'collected');
});

test('does not collect in a busy thread', async () => {
  assert.equal(await garbageOf({ isBusy: true }), 'kept');
});

test('collects the garbage of the calling thread at once', async () => {
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

test('does not keep a thread alive', async () => {
  const worker = new Worker(
    `import(${module}).then((found) => found.releaseMemoryWhenIdle({ checkEveryMs: 100 }))`,
    { eval: true },
  );
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  assert.equal(await Promise.race([ended, sleep(10_000, 'still running', { ref: false })]), 0);
});
