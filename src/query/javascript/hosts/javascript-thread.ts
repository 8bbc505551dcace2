// Entry of a thread for functions in JavaScript: runs one job after the other. Runs at low priority, so that endless loops in a few threads do not
// delay requests that call no functions.
import { parentPort } from 'node:worker_threads';
import { assert } from '#base/assert.ts';
import { lowerPriority } from '#ports/low-priority.ts';
import type { JavaScriptJob, JavaScriptStart } from '../javascript-messages.ts';
import { Sandbox } from '../sandbox.adapter.ts';

assert(parentPort !== null, 'functions in JavaScript run in a worker thread');
const port = parentPort;

lowerPriority();

let sandbox: Promise<Sandbox> | null = null;

port.on('message', (message: JavaScriptStart | JavaScriptJob) => {
  if (message.kind !== 'start') return void answer(message);
  const interrupt = new Int32Array(message.interrupt);
  const isInterrupted = () => Atomics.load(interrupt, 0) > 0;
  sandbox = Sandbox.load(isInterrupted);
});

async function answer(job: JavaScriptJob): Promise<void> {
  assert(sandbox !== null, 'the thread was not started');
  port.postMessage((await sandbox).run(job));
}
