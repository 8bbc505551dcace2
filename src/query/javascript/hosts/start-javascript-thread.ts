// Starts a thread for functions in JavaScript.
import type { Worker } from 'node:worker_threads';
import { codeFile } from '#ports/code-place.ts';
import { startWorker } from '#ports/worker.ts';

/** A function in the sandbox takes more of the stack of the thread than of the sandbox's own stack, which has a limit. */
export const startJavaScriptThread = (): Worker =>
  startWorker(codeFile('query/javascript/hosts/javascript-thread'), {
    name: 'functions in JavaScript',
    resourceLimits: { maxYoungGenerationSizeMb: 4, stackSizeMb: 16 },
  });
