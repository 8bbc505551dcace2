// Divan compared with other servers, interleaved on the same machine: keys (memcached, Redis, an echo server), TLS, durable writes (Redis that syncs
// always, plain SQLite), queries (PostgreSQL), REST (a constant answer) and the start (an empty program); then Divan alone with many buckets and
// under mixed load. `-- peers rest many` measures only these groups. A full run writes its figures to `bench/results`, from which `npm run docs`
// makes docs/reference/performance.md. A server that is not installed is skipped.
import { loadavg } from 'node:os';
import { durableWrites, encryption, keys } from './support/peers-keys.ts';
import { manyBuckets, mixedLoad } from './support/peers-load.ts';
import { queries } from './support/peers-queries.ts';
import { restRequests } from './support/peers-rest.ts';
import { starts } from './support/peers-starts.ts';
import { type Extent, type Figure, median, writeResults } from './support/results.ts';

const groups: Readonly<Record<string, (extent: Extent) => Promise<Figure[]>>> = {
  keys,
  encryption,
  durable: durableWrites,
  rest: restRequests,
  queries,
  starts,
  many: manyBuckets,
  mixed: mixedLoad,
};

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const extent = smoke ? { rounds: 1, seconds: 0.1 } : { rounds: 5, seconds: 2 };
  const [loadBefore = 0] = loadavg();
  const figures: Figure[] = [];
  const wanted = process.argv.slice(3);
  for (const [name, group] of Object.entries(groups)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const found = await group(extent);
    for (const figure of found) print(figure);
    figures.push(...found);
  }
  if (!smoke) console.log(`written to ${writeResults(figures, loadBefore)}; npm run docs makes the page`);
}

function print({ group, server, shape, unit, values, cpuMicroseconds }: Figure): void {
  const spread = `${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)}`;
  const cpu = cpuMicroseconds ? `, ${median(cpuMicroseconds).toFixed(2)} µs of processor time each` : '';
  console.log(`${group}: ${server}, ${shape}: ${median(values).toFixed(0)} ${unit} (${spread})${cpu}`);
}
