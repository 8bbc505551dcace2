// Preloaded into every thread of a node (`NODE_OPTIONS=--require`, which Node passes on to threads): appends the processor time of the
// longest turn of the event loop to a file of the thread, four times a second. Other processes of the machine do not prolong it.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread, threadId, threadName } from 'node:worker_threads';

const reportMs = 250;

function reportTurns(folder: string): void {
  const name = isMainThread ? 'main' : threadName || `thread ${threadId}`;
  const cpuMs = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let last = cpuMs();
  let longest = 0;
  setInterval(() => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1).unref();
  setInterval(() => {
    appendFileSync(join(folder, `${name}.turns`), `${Date.now()} ${longest.toFixed(2)}\n`);
    longest = 0;
  }, reportMs).unref();
}

const folder = process.env['DIVAN_TURNS'];
if (folder !== undefined) reportTurns(folder);
