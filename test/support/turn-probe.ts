// Preloaded into every thread of a node (`NODE_OPTIONS=--require`, which Node passes on to threads): measures the turns of the thread's event
// loop in processor time, which other processes of the machine do not prolong. Four times a second it appends a line to a file of the thread:
// the wall time in ms, a space, and the longest turn since the line before, in ms.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread, threadId, threadName } from 'node:worker_threads';

const reportMs = 250;
/** The shortest interval of a timer: between two firings is one turn, or several short ones that together take about that long. */
const probeTimeoutMs = 1;

function reportTurns(folder: string): void {
  const name = isMainThread ? 'main' : threadName || `thread ${threadId}`;
  const cpuMs = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let lastMs = cpuMs();
  let longestMs = 0;
  setInterval(() => {
    const nowMs = cpuMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }, probeTimeoutMs).unref();
  setInterval(() => {
    appendFileSync(join(folder, `${name}.turns`), `${Date.now()} ${longestMs.toFixed(2)}\n`);
    longestMs = 0;
  }, reportMs).unref();
}

const folder = process.env['DIVAN_TURNS'];
if (folder !== undefined) reportTurns(folder);
