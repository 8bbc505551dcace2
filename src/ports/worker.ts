// Starts a worker thread on a module. With the compile cache a thread starts in half the time and without the 25 MB of the type
// stripper, but each thread must enable that cache itself before it loads its module.
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { codeFile, isBundled } from './code-place.ts';

/** Our threads store their data off the heap, so a small young generation suffices; the default takes 10 MB when idle. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

/** `module` is the file of the thread's module: `startWorker(codeFile('kv/disk/hosts/disk-worker'))`. */
export function startWorker(module: URL, options: WorkerOptions = {}): Worker {
  const cache = getCompileCacheDir();
  const limited = { resourceLimits, ...options };
  if (cache === undefined) return new Worker(module, limited);
  // Node reports a subfolder for its version; `enable` expects the parent.
  const bootstrap = `const { enableCompileCache, flushCompileCache } = require('node:module');
    enableCompileCache(${JSON.stringify(dirname(cache))});
    ${isBundled ? 'Promise.resolve()' : findingOwnModules}
      .then(() => import(${JSON.stringify(module.href)}))
      .then(() => flushCompileCache());`;
  return new Worker(bootstrap, { ...limited, eval: true });
}

/** Registers the module resolver of this project. A bundle does without it: it imports so few modules that the resolver saves no time. */
const findingOwnModules = `import(${JSON.stringify(codeFile('ports/own-modules').href)})
      .then(({ registerModuleResolver }) => registerModuleResolver())`;
