// The start of a node on an empty folder compared with that of an empty Node program, interleaved, and the memory of both.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { endAfterTests } from '../../test/support/left-running.ts';
import { launcher, NodeProcess, portFlags } from '../../test/support/node-process.ts';
import type { Extent, Figure } from './results.ts';
import { residentMb, threadsMs } from './server-usage.ts';

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
}

/** An empty Node program that shows that it runs. */
const program = 'process.stdout.write("1"); setInterval(() => {}, 1e6)';

export async function starts({ rounds, seconds }: Extent): Promise<Figure[]> {
  const measured = { node: [] as Start[], empty: [] as Start[] };
  // A start takes less time than the other comparisons, so that there are more of them.
  const starts = seconds < 1 ? 1 : 2 * rounds + 1;
  for (let start = 0; start < starts; start++) {
    measured.node.push(await startOfNode());
    measured.empty.push(await startOfProgram());
  }
  const idleMs = seconds < 1 ? 0 : 35_000;
  const figure = (server: string, shape: string, unit: string, values: number[]): Figure => ({
    group: 'start and size',
    server,
    shape,
    unit,
    values,
  });
  const [node, empty] = ['Divan, from the command to the first answer', 'an empty Node program'];
  return [
    figure(
      node,
      'elapsed time',
      'ms',
      measured.node.map(({ ms }) => ms),
    ),
    figure(
      empty,
      'elapsed time',
      'ms',
      measured.empty.map(({ ms }) => ms),
    ),
    figure(
      node,
      'processor time',
      'ms',
      measured.node.map(({ cpuMs }) => cpuMs),
    ),
    figure(
      empty,
      'processor time',
      'ms',
      measured.empty.map(({ cpuMs }) => cpuMs),
    ),
    figure('Divan without a bucket', 'memory when idle', 'MB', [await idleMb([], idleMs)]),
    figure('Divan with a bucket', 'memory when idle', 'MB', [await idleMb(['--bucket', 'b'], idleMs)]),
    figure(empty, 'memory when idle', 'MB', [await memoryOfProgram()]),
  ];
}

async function startOfNode(): Promise<Start> {
  const folder = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  const port = await freePort();
  const ports = portFlags.with(portFlags.indexOf('--rest-port') + 1, String(port));
  const args = [launcher, 'node', '--data-dir', folder, ...ports];
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  endAfterTests(child);
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`the node ended with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const found = { ms: performance.now() - startedMs, cpuMs: threadsMs(child.pid as number) };
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  rmSync(folder, { recursive: true });
  return found;
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    get({ port, path: '/pools', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).on('error', () => resolve(false));
  });

async function startOfProgram(): Promise<Start> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
  endAfterTests(child);
  await once(child.stdout, 'data');
  const found = { ms: performance.now() - startedMs, cpuMs: threadsMs(child.pid as number) };
  child.kill('SIGKILL');
  return found;
}

/** Memory after a wait: threads collect the garbage of the start only once they have been idle for some seconds. */
async function idleMb(args: string[], idleMs: number): Promise<number> {
  await using node = await NodeProcess.start({ args });
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  return residentMb(node.pid);
}

async function memoryOfProgram(): Promise<number> {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
  endAfterTests(child);
  await once(child.stdout, 'data');
  const mb = residentMb(child.pid as number);
  child.kill('SIGKILL');
  return mb;
}
