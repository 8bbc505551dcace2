// Latencies of reads and writes while a bucket with a disk is flushed and compacted, some documents expire, and its metrics are read;
// beside them how late a timer of an idle thread fires on the same machine, and the longest turn of each thread of the node in processor time.
// Goals: 99.9 % below 10 ms where the machine allows it, no turn of the node's threads above 4 ms.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { portNumber } from '../test/support/addresses.ts';
import { administrator, NodeProcess } from '../test/support/node-process.ts';
import { Turns } from '../test/support/turns.ts';
import type { Latencies, MixedLoad, MixedReport } from './support/mixed-load.ts';

const program = (name: string): string => fileURLToPath(new URL(`./support/${name}.ts`, import.meta.url));
/** The pause between two compactions, with a read of the metrics after each. */
const pauseMs = 1_000;
/** The turns of the start and of compiling during the first seconds do not count. */
const warmUpMs = 10_000;

export interface Mixed extends MixedReport {
  /** The longest turn of each thread, by its name. */
  readonly turns: readonly (readonly [thread: string, ms: number])[];
  readonly compactions: number;
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const { requests, machine, turns, compactions } = await mixed(smoke ? 2 : 60);
  console.log(`requests: ${latencyText(requests)}; ${compactions} compactions`);
  console.log(`an idle thread wakes late by: ${latencyText(machine)}`);
  const list = turns.map(([thread, ms]) => `${thread} ${ms.toFixed(1)} ms`).join(', ');
  console.log(`longest turn of each thread, in processor time: ${list || 'not measured'}`);
}

const latencyText = ({ count, p50Ms, p99Ms, p999Ms, longestMs }: Latencies): string =>
  `p50 ${p50Ms.toFixed(2)}, p99 ${p99Ms.toFixed(1)}, p99.9 ${p999Ms.toFixed(1)}, longest ${longestMs.toFixed(1)} ms of ${count}`;

export async function mixed(seconds: number): Promise<Mixed> {
  using turns = new Turns();
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'], environment: turns.environment });
  const warmedUp = setTimeout(() => turns.count(), warmUpMs);
  const load: MixedLoad = {
    port: portNumber(node.ready.node.kv),
    username: administrator.username,
    bucket: 'b',
    connections: 16,
    perSecond: 4_000,
    seconds,
  };
  let isOver = false;
  const running = promisify(execFile)(process.execPath, [program('mixed-load'), JSON.stringify(load)]);
  const ended = running.finally(() => {
    isOver = true;
  });
  // Awaited below: until then a failure is no unhandled rejection.
  ended.catch(() => {});
  let compactions = 0;
  while (!isOver) {
    const { ok } = await node.request('/pools/default/buckets/b/controller/compactBucket', 'POST');
    if (ok) compactions++;
    await (await node.request('/metrics')).text();
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  const { stdout } = await ended;
  clearTimeout(warmedUp);
  return { ...(JSON.parse(stdout) as MixedReport), compactions, turns: [...turns.longest()] };
}
