// Starts a thread for functions in JavaScript.
import type { Worker } from 'node:worker_threads';
import { codeFile } from '#ports/code-place.ts';
import { startWorker } from '#ports/worker.ts';

/**
 * The stack is large, since a function takes more of the thread's stack than of the sandbox's own stack, for which the sandbox has a limit. The young
 * generation is small, since the values of functions are in the sandbox's memory.
 */
export const startJavaScriptThread = (): Worker =>
  startWorker(codeFile('query/javascript/hosts/javascript-thread'), {
    name: 'functions in JavaScript',
    resourceLimits: { maxYoungGenerationSizeMb: 4, stackSizeMb: 16 },
  });
