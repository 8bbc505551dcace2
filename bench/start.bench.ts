// The time from the start of the process to the first answered request on an empty data folder, and the memory and processor time of an idle node.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { portNames } from '../src/main/node-options.ts';
import { freePort } from '../test/support/free-port.ts';
import { launcher, NodeProcess } from '../test/support/node-process.ts';
import { processMs, residentMb } from './support/server-usage.ts';
import { threadHeaps } from './support/thread-heaps.ts';

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const nodes: Start[] = [];
  const bare: Start[] = [];
  // Alternately, so that other work of the machine affects both.
  for (let i = 0; i < (smoke ? 1 : 11); i++) {
    nodes.push(await startOfNode());
    bare.push(await startOfBareThreads());
  }
  console.log(`start to first answered request: ${summaryOf(nodes)} (goal 150 ms)`);
  console.log(
    `the same modules of Node and two threads that listen, without code of ours: ${summaryOf(bare)}`,
  );
  console.log(`an empty Node program: ${(await emptyProgramMs()).toFixed(0)} ms`);
  const wait = smoke ? { idleMs: 200, measureMs: 300 } : { idleMs: 35_000, measureMs: 30_000 };
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

interface Start {
  readonly elapsedMs: number;
  /** Processor time of all threads. */
  readonly processorMs: number;
}

async function startOfNode(): Promise<Start> {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  const port = await freePort();
  const ports = portNames.filter((name) => name !== 'rest-port').flatMap((name) => [`--${name}`, '0']);
  const args = [launcher, 'node', '--data-dir', dataDir, '--rest-port', String(port), ...ports];
  const start = await startOf(args, port);
  rmSync(dataDir, { recursive: true });
  return start;
}

/** What a server with two threads cannot start without. */
const bareThreads = `
  for (const name of ['tls', 'crypto', 'sqlite']) require('node:' + name);
  const { Worker } = require('node:worker_threads');
  const thread = "require('node:net').createServer().listen(0, '127.0.0.1', () => require('node:worker_threads').parentPort.postMessage(0))";
  const options = { eval: true, resourceLimits: { maxYoungGenerationSizeMb: 4 } };
  const ready = [1, 2].map(() => new Promise((resolve) => new Worker(thread, options).once('message', resolve)));
  const server = require('node:http').createServer((request, response) => response.end());
  Promise.all(ready).then(() => server.listen(Number(process.argv[1]), '127.0.0.1'));`;

async function startOfBareThreads(): Promise<Start> {
  const port = await freePort();
  return await startOf(['-e', bareThreads, String(port)], port);
}

async function startOf(args: string[], port: number): Promise<Start> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error('the program ended');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const start = { elapsedMs: performance.now() - startedMs, processorMs: processMs(child.pid as number) };
  await end(child);
  return start;
}

function summaryOf(starts: readonly Start[]): string {
  const elapsed = starts.map(({ elapsedMs }) => elapsedMs).sort((a, b) => a - b);
  const processor = starts.map(({ processorMs }) => processorMs).sort((a, b) => a - b);
  const [median, best, worst] = [elapsed[elapsed.length >> 1], elapsed[0], elapsed.at(-1)] as number[];
  const figures = `median ${median?.toFixed(0)} ms, best ${best?.toFixed(0)}, worst ${worst?.toFixed(0)}`;
  return `${figures}, processor time ${processor[processor.length >> 1]?.toFixed(0)} ms`;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    get({ port, path: '/pools', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).on('error', () => resolve(false));
  });
}

async function emptyProgramMs(): Promise<number> {
  const startedMs = performance.now();
  await new Promise((resolve) => spawn(process.execPath, ['-e', '0']).once('exit', resolve));
  return performance.now() - startedMs;
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
  const cpuBeforeMs = processMs(node.pid);
  await new Promise((resolve) => setTimeout(resolve, measureMs));
  const share = ((processMs(node.pid) - cpuBeforeMs) / measureMs) * 100;
  return `${residentMb(node.pid).toFixed(0)} MB resident (goal 120), ${share.toFixed(2)} % of a core (goal 0.5)`;
}

function end(child: ChildProcess): Promise<unknown> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  return ended;
}
