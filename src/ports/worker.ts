// Starts a worker thread on a module. With the compile cache a thread starts in half the time and without the 25 MB of the type
// stripper, but each thread must enable that cache itself before it loads its module.
import { getCompileCacheDir } from 'node:module';
import { dirname, extname } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Our threads store their data off the heap, so a small young generation suffices; the default takes 10 MB when idle. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

/**
 * `module` is the URL of the thread's module without its extension, which is the one of the caller's file
 * (`.js` in the published package): `startWorker(new URL('./disk-worker', import.meta.url), import.meta.url)`.
 */
export function startWorker(module: URL, importer: string, options: WorkerOptions = {}): Worker {
  const url = new URL(module.href + extname(importer));
  const cache = getCompileCacheDir();
  const limited = { resourceLimits, ...options };
  if (cache === undefined) return new Worker(url, limited);
  const finder = new URL(`./own-modules${extname(import.meta.url)}`, import.meta.url);
  // Node reports a subfolder for its version; `enable` expects the parent.
  const bootstrap = `const { enableCompileCache, flushCompileCache } = require('node:module');
    enableCompileCache(${JSON.stringify(dirname(cache))});
    import(${JSON.stringify(finder.href)})
      .then(({ findOwnModules }) => findOwnModules())
      .then(() => import(${JSON.stringify(url.href)}))
      .then(() => flushCompileCache());`;
  return new Worker(bootstrap, { ...limited, eval: true });
}
