// Index builds and changes of indexed documents, over a data service in this process: the processor time of all threads.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { realKdf } from '#auth/kdf.host.ts';
import { BucketClient, type StoreRequest } from '#client/bucket-client.ts';
import { IndexHost } from '#index/host/index-host.ts';
import { IndexProgress } from '#index/index-progress.ts';
import { workerDiskEngine } from '#kv/disk/hosts/worker-engine.ts';
import { DataService } from '#kv/host/data-service.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import { aBucket, aDesired } from '../test/support/data-service.ts';
import { aDefinition } from '../test/support/simple-index-language.ts';
import { addressOf, adminAccount } from '../test/support/wire-clients.ts';
import { hotelNumber, streamChanges } from './support/hotels.ts';

const collection = 8;
/** Documents of one request. */
const batch = 2_000;
/** How long the index thread has to drop the other indexes. */
const untilDroppedMs = 2_000;

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const count = smoke ? 1_000 : 200_000;
  const folder = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  const parts = { clock: realClock, random: realRandom, log: silentLog, kdf: realKdf };
  const service = new DataService({ ...parts, disk: workerDiskEngine() });
  const listen = { host: '127.0.0.1', port: 0, tlsPort: 0, version: 'bench', logLevel: 'silent' };
  const { port } = await service.start({ dataDir: folder, ...listen });
  await service.apply(aDesired({ buckets: [aBucket('b', { quotaBytes: 2 ** 31 })] }));
  // The bucket refuses writes until it is ready.
  while ((await service.report()).buckets[0]?.state !== 'ready') await wait(10);
  const client = await BucketClient.open({ address: addressOf(port), account: adminAccount, bucket: 'b' });
  await write(client, count, 0);
  while ((await service.report()).buckets[0]?.dirtyItems !== 0) await wait(100);
  const data = { folder: join(folder, 'index'), address: addressOf(port), account: adminAccount };
  const host = new IndexHost({
    data: async () => data,
    hasFiles: () => false,
    clock: realClock,
    log: silentLog,
  });
  const builds: [string, IndexDefinition][] = [
    ['a number', aDefinition(['`n`'])],
    ['nothing but the id', aDefinition([])],
    ['a text and a number', aDefinition(['`city`', '`n`'])],
    ['an array of three', aDefinition([{ expression: '(distinct `tags`)', array: 'distinct' }])],
  ];
  const definitions: IndexDefinition[] = [];
  await measured('streams alone', count, () => streamChanges(data, count));
  for (const [what, definition] of builds) {
    definitions.push(definition);
    await measured(`build of ${what}`, count, () => build(host, definitions));
  }
  for (const kept of [0, 1, 4]) {
    host.apply(desiredIndexes(definitions.slice(0, kept)));
    await wait(smoke ? 0 : untilDroppedMs);
    const changes = Math.min(count, 100_000);
    // A shift that no earlier round has used, so that every change moves the document's entries.
    const shift = 1_000 + kept;
    await measured(`changes followed by ${kept} indexes`, changes, async () => {
      await write(client, changes, shift);
      await caughtUp(client, host);
    });
  }
  client.close();
  await host.stop();
  await service.stop();
  rmSync(folder, { recursive: true });
}

const desiredIndexes = (definitions: readonly IndexDefinition[]) => ({
  indexes: definitions.map((definition) => ({ definition, isBuilt: true })),
  memoryQuotaBytes: 512 << 20,
  place: null,
});

async function build(host: IndexHost, definitions: readonly IndexDefinition[]): Promise<void> {
  host.apply(desiredIndexes(definitions));
  const isOnline = (): boolean =>
    host.reports().filter(({ state }) => state === 'online').length === definitions.length;
  while (!isOnline()) await wait(5);
}

async function caughtUp(client: BucketClient, host: IndexHost): Promise<void> {
  const seqnos = await client.highSeqnos(collection);
  for (const { shared } of host.reports()) {
    if (shared === undefined) continue;
    const progress = new IndexProgress(shared);
    while (seqnos.some((seqno, vb) => progress.completeSeqno(vb) < seqno)) await wait(5);
  }
}

/** Stores the documents; `shift` is added to the number of each. */
async function write(client: BucketClient, count: number, shift: number): Promise<void> {
  for (let from = 0; from < count; from += batch) {
    const size = Math.min(batch, count - from);
    await client.storeMany(
      collection,
      Array.from({ length: size }, (_, at) => document(from + at, shift)),
    );
  }
}

function document(at: number, shift: number): StoreRequest {
  const n = hotelNumber(at, shift);
  const body = {
    type: 'hotel',
    name: `Hotel ${at}`,
    n,
    city: `City ${n % 5_000}`,
    description: 'x'.repeat(700),
    tags: [n % 17, n % 31, n % 1_000],
    address: { street: `Street ${at}`, zip: String(at) },
    free: at % 2 === 0,
  };
  return { kind: 'set', key: `hotel_${at}`, value: Buffer.from(JSON.stringify(body)), cas: 0n, expiry: 0 };
}

async function measured(what: string, count: number, act: () => Promise<void>): Promise<void> {
  const [cpu, startedMs] = [process.cpuUsage(), performance.now()];
  await act();
  const { user, system } = process.cpuUsage(cpu);
  const [cpuSeconds, seconds] = [(user + system) / 1e6, (performance.now() - startedMs) / 1e3];
  const each = Math.round(count / cpuSeconds).toLocaleString('en');
  console.log(`${what}: ${each} documents a CPU-second, ${seconds.toFixed(2)} s`);
}
