// From exec to the first answered request on an empty data folder, and what an idle node costs.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { portNames } from '../src/main/node-options.ts';
import { freePort } from '../test/support/free-port.ts';
import { NodeProcess } from '../test/support/node-process.ts';
import { processMs, residentMb } from './support/server-time.ts';
import { threadHeaps } from './support/thread-heaps.ts';

const launcher = fileURLToPath(new URL('../bin/divan.js', import.meta.url));

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < (smoke ? 3 : 11); i++) times.push(await startOnce());
  times.sort((a, b) => a - b);
  const bare = await bareNode();
  console.log(
    `start to first answered request: median ${times[times.length >> 1]?.toFixed(0)} ms, best ${times[0]?.toFixed(0)} ms, worst ${times.at(-1)?.toFixed(0)} ms (goal 400; an empty Node program: ${bare.toFixed(0)} ms)`,
  );
  const wait = smoke ? { idleMs: 2000, measureMs: 3000 } : { idleMs: 35_000, measureMs: 30_000 };
  const oneBucket = ['--bucket', 'b'];
  const [without, withOne, heaps] = await Promise.all([
    idle([], wait),
    idle(oneBucket, wait),
    threadHeaps(oneBucket, wait.idleMs),
  ]);
  console.log(`idle without a bucket: ${without}`);
  console.log(`idle with one bucket: ${withOne}`);
  console.log(`heaps with one bucket, used of held: ${heaps}`);
}

async function startOnce(): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  const port = await freePort();
  const ports = portNames.filter((name) => name !== 'rest-port').flatMap((name) => [`--${name}`, '0']);
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [launcher, 'node', '--data-dir', dataDir, '--rest-port', String(port), ...ports],
    { stdio: 'ignore' },
  );
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error('the node ended');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const took = performance.now() - began;
  await end(child);
  rmSync(dataDir, { recursive: true });
  return took;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    get({ port, path: '/pools', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).on('error', () => resolve(false));
  });
}

async function bareNode(): Promise<number> {
  const began = performance.now();
  await new Promise((resolve) => spawn(process.execPath, ['-e', '0']).once('exit', resolve));
  return performance.now() - began;
}

/**
 * Resident memory and processor time of an idle node. The measurement begins later: threads collect the garbage of their start
 * once they have been idle for some seconds.
 */
async function idle(
  args: string[],
  { idleMs, measureMs }: { idleMs: number; measureMs: number },
): Promise<string> {
  await using node = await NodeProcess.start({ args });
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const before = processMs(node.pid);
  await new Promise((resolve) => setTimeout(resolve, measureMs));
  const share = ((processMs(node.pid) - before) / measureMs) * 100;
  return `${residentMb(node.pid).toFixed(0)} MB resident (goal 120), ${share.toFixed(2)} % of a core (goal 0.5)`;
}

function end(child: ChildProcess): Promise<unknown> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  return ended;
}
