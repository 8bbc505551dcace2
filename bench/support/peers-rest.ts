// Compares GET of one bucket with a server that always returns the same answer of that size; the two are measured alternately.

import { administrator, NodeProcess } from '../../test/support/node-process.ts';
import { startConstantServer } from './constant-process.ts';
import { type Load, load } from './http-load.ts';
import type { Extent, Figure } from './results.ts';
import { processMs } from './server-usage.ts';

const path = '/pools/default/buckets/b';

export async function restRequests({ rounds, seconds }: Extent): Promise<Figure[]> {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  await using constant = await startConstantServer();
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
  const cpuBeforeMs = processMs(pid);
  const { perSecond } = await load(request);
  return { perSecond, cpuMicroseconds: ((processMs(pid) - cpuBeforeMs) * 1e6) / (perSecond * request.ms) };
}
