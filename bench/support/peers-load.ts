// Divan alone: the memory and processor time of an idle node with many buckets and connections, and the latencies of a node under mixed load.

import { measureMany } from '../many.bench.ts';
import { mixed } from '../mixed.bench.ts';
import type { Extent, Figure } from './results.ts';

const figure = (
  group: string,
  server: string,
  shape: string,
  unit: string,
  values: readonly number[],
): Figure => ({
  group,
  server,
  shape,
  unit,
  values,
});

export async function manyBuckets({ rounds, seconds }: Extent): Promise<Figure[]> {
  const isSmoke = seconds < 1;
  const [buckets, count] = isSmoke ? [3, 100] : [30, 10_000];
  const times = isSmoke ? { settleMs: 0, idleMs: 200 } : { settleMs: 35_000, idleMs: 30_000 };
  const found = await measureMany({ buckets, connections: count, starts: rounds, ...times });
  const [withBuckets, withConnections] = [
    `Divan with ${buckets} buckets`,
    `Divan with ${buckets} buckets and ${count} connections`,
  ];
  const figureOfMany = (server: string, shape: string, unit: string, values: readonly number[]): Figure =>
    figure('many', server, shape, unit, values);
  return [
    figureOfMany(withBuckets, 'from the command until all are ready', 'ms', found.startsMs),
    figureOfMany(withBuckets, 'processor time of that', 'ms', found.startsCpuMs),
    figureOfMany(withBuckets, 'memory when idle', 'MB', [found.idle.mb]),
    figureOfMany(withConnections, 'memory when idle', 'MB', [found.idleWithConnections.mb]),
    figureOfMany(withBuckets, 'processor time when idle, each second', 'ms', [found.idle.msPerSecond]),
    figureOfMany(withConnections, 'processor time when idle, each second', 'ms', [
      found.idleWithConnections.msPerSecond,
    ]),
  ];
}

export async function mixedLoad({ seconds }: Extent): Promise<Figure[]> {
  const { requests, machine, turns } = await mixed(seconds < 1 ? 0.5 : 60);
  const machineOnly = 'an idle thread of the generator wakes late by';
  const figureOfMixed = (server: string, shape: string, ms: number): Figure =>
    figure('mixed load', server, shape, 'ms', [ms]);
  return [
    ...(['p50', 'p99', 'p99.9'] as const).flatMap((share) => {
      const key = ({ p50: 'p50Ms', p99: 'p99Ms', 'p99.9': 'p999Ms' } as const)[share];
      return [
        figureOfMixed('Divan, requests', share, requests[key]),
        figureOfMixed(machineOnly, share, machine[key]),
      ];
    }),
    ...turns.map(([thread, ms]) =>
      figureOfMixed(`Divan, ${thread}`, 'longest turn of a thread, processor time', ms),
    ),
  ];
}
