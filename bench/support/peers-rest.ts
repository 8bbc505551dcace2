// Compares GET of one bucket with a server that always returns the same answer of that size; the two are measured alternately.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endAfterTests } from '../../test/support/left-running.ts';
import { administrator, NodeProcess } from '../../test/support/node-process.ts';
import type { Extent } from '../peers.bench.ts';
import { type Load, load } from './http-load.ts';
import type { Figure } from './results.ts';
import { processMs } from './server-time.ts';

const path = '/pools/default/buckets/b';

export async function restRequests({ rounds, seconds }: Extent): Promise<Figure[]> {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  await using constant = await constantServer();
  const token = Buffer.from(`${administrator.username}:${administrator.password}`).toString('base64');
  const record = { url: new URL(path, node.ready.node.rest), authorization: `Basic ${token}` };
  const { bytes } = await load({ ...record, connections: 1, ms: 200 });
  const targets = [
    { server: 'Divan, record of a bucket', pid: node.pid, request: record },
    {
      server: 'constant answer of the same size',
      pid: constant.pid,
      request: { url: new URL(`/constant?bytes=${bytes}`, constant.url) },
    },
  ];
  const measurements = targets.map(() => ({ values: [] as number[], cpuMicroseconds: [] as number[] }));
  for (let round = 0; round < rounds; round++)
    for (const [index, { pid, request }] of targets.entries()) {
      const { perSecond, cpuMicroseconds } = await measureRound(pid, {
        ...request,
        connections: 4,
        ms: seconds * 1000,
      });
      measurements[index]?.values.push(perSecond);
      measurements[index]?.cpuMicroseconds.push(cpuMicroseconds);
    }
  return targets.map(({ server }, index) => ({
    group: 'REST',
    server,
    shape: `${bytes} bytes, 4 connections`,
    unit: 'requests/s',
    values: measurements[index]?.values as number[],
    cpuMicroseconds: measurements[index]?.cpuMicroseconds as number[],
  }));
}

async function measureRound(
  pid: number,
  request: Load,
): Promise<{ perSecond: number; cpuMicroseconds: number }> {
  const before = processMs(pid);
  const { perSecond } = await load(request);
  return { perSecond, cpuMicroseconds: ((processMs(pid) - before) * 1e6) / (perSecond * request.ms) };
}

async function constantServer() {
  const program = fileURLToPath(new URL('./constant-server.ts', import.meta.url));
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  endAfterTests(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    url: line.toString().trim(),
    pid: child.pid as number,
    async [Symbol.asyncDispose](): Promise<void> {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}
