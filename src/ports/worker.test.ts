import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { startWorker } from './worker.ts';

/** Writes a module with this text. */
async function aModule(text: string): Promise<{ url: URL; folder: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'divan-worker-'));
  await writeFile(join(folder, 'module.ts'), text);
  const url = pathToFileURL(join(folder, 'module.ts'));
  return { url, folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

const echo = `import { parentPort } from 'node:worker_threads';
parentPort!.on('message', (text: string) => parentPort!.postMessage(text + text));`;

test('a worker runs its module and gets messages that were sent before the module was loaded', async () => {
  await using module = await aModule(echo);
  const worker = startWorker(module.url);
  worker.postMessage('ab');
  assert.deepEqual(await once(worker, 'message'), ['abab']);
  await worker.terminate();
});

test('a worker uses the compile cache of the process', async () => {
  await using module = await aModule(`import { getCompileCacheDir } from 'node:module';
    import { parentPort } from 'node:worker_threads';
    parentPort!.postMessage(getCompileCacheDir());`);
  const cache = join(module.folder, 'cache');
  const script = `
    const { enableCompileCache, getCompileCacheDir } = require('node:module');
    enableCompileCache(${JSON.stringify(cache)});
    import(${JSON.stringify(new URL('./worker.ts', import.meta.url).href)}).then(({ startWorker }) => {
      const worker = startWorker(new URL(${JSON.stringify(module.url.href)}));
      worker.on('message', (found) => console.log(found === getCompileCacheDir(), found));
    });`;
  // A cache set by the test run would take precedence.
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', env });
  assert.equal(stderr, '');
  assert.ok(stdout.startsWith(`true ${cache}`), stdout);
});

test('a worker emits an error if its module cannot be loaded', async () => {
  await using module = await aModule('throw new Error("no luck");');
  const worker = startWorker(module.url);
  const [error] = (await once(worker, 'error')) as [Error];
  assert.match(error.message, /no luck/);
});
