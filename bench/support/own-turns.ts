// Loaded by `--require` into every thread of a node: writes the longest turn of the thread, in processor time, to a file named after the
// thread, once a second. Other programs prolong only elapsed time.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { threadId, threadName } from 'node:worker_threads';

const folder = process.env['DIVAN_BENCH_TURNS'] as string;
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
/** The start and the compilation in its first seconds are left out. */
const ignoredMs = 10_000;
const beganMs = performance.now();
let longestMs = 0;
let lastMs = cpuMs();
setInterval(() => {
  const nowMs = cpuMs();
  if (performance.now() - beganMs > ignoredMs) longestMs = Math.max(longestMs, nowMs - lastMs);
  lastMs = nowMs;
}, 1).unref();
setInterval(() => {
  writeFileSync(join(folder, `${threadId} ${threadName || 'main'}`), String(longestMs));
  lastMs = cpuMs();
}, 1_000).unref();
