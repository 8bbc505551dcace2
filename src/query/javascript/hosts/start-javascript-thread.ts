// Starts a thread for functions in JavaScript.
import type { Worker } from 'node:worker_threads';
import { codeFile } from '#ports/code-place.ts';
import { startWorker } from '#ports/worker.ts';

/** The sandbox has a limit for its own stack, and uses more of the thread's. */
export const startJavaScriptThread = (): Worker =>
  startWorker(codeFile('query/javascript/hosts/javascript-thread'), {
    name: 'functions in JavaScript',
    resourceLimits: { maxYoungGenerationSizeMb: 4, stackSizeMb: 16 },
  });
