// A gigabyte of documents in a bucket of 100 MB under each eviction policy. With files everything that was accepted is read back,
// before and after a restart. `node test/stress/eviction.ts [documents] [policy]`, default a million, and each policy in turn.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EvictionPolicy } from '#kv/admin.ts';
import { Bucket } from '#kv/bucket/bucket.ts';
import type { DiskEngine } from '#kv/data/disk-engine.ts';
import { type DocumentResult, DurabilityLevel, emptyItemView, notResident } from '#kv/data/documents.ts';
import { workerDiskEngine } from '#kv/disk/hosts/worker-engine.ts';
import { Now } from '#kv/vbucket/now.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { Status } from '#wire/status.ts';
import { aRequest, fetched, keyOf } from '../support/a-bucket.ts';

const count = Number(process.argv[2] ?? 1_000_000);
const onlyPolicy = process.argv[3];
const quotaBytes = 100 * 1024 * 1024;
const vbOf = (i: number): number => i % 1024;
const textOf = (i: number): string => `${i} `.padEnd(1000 + (i % 50), 'x');
const view = emptyItemView();
const result = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };

for (const policy of ['valueOnly', 'fullEviction', 'noEviction'] as const) {
  if (onlyPolicy !== undefined && onlyPolicy !== policy) continue;
  await (policy === 'noEviction' ? fill() : run(policy));
}
if (onlyPolicy === undefined || onlyPolicy === 'nruEviction') await overfill();

/** Writes until the bucket refuses; it then has every acknowledged document, also after a restart. */
async function fill(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'divan-eviction-'));
  try {
    const disk = workerDiskEngine();
    const bucket = await open('noEviction', folder, disk);
    let taken = 0;
    while (taken < count && (await tryPut(bucket, taken))) taken++;
    assert.ok(taken > 50_000 && taken < count, `${taken} documents`);
    console.log(`noEviction: accepted ${taken} documents, then refused; ${memory(bucket)}`);
    for (let i = 0; i < taken; i++) assert.equal(find(bucket, i), Status.success);
    await bucket.stop();
    await disk.stop();
    const again = workerDiskEngine();
    const restarted = await open('noEviction', folder, again);
    for (let i = 0; i < taken; i++) await read(restarted, i);
    await restarted.stop();
    await again.stop();
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A bucket without a disk stays inside its quota by deleting. */
async function overfill(): Promise<void> {
  const bucket = await open('nruEviction', '', null);
  await timed('nruEviction: write', () => inParallel((i) => put(bucket, i)));
  console.log(`nruEviction: kept ${bucket.stats().items} documents; ${memory(bucket)}`);
  assert.ok(bucket.stats().memUsed <= quotaBytes);
  await bucket.stop();
}

/** Returns false if the write is refused for two seconds. */
async function tryPut(bucket: Bucket, i: number): Promise<boolean> {
  const request = aRequest(`k${i}`, { vb: vbOf(i), value: textOf(i) });
  for (let tries = 0; tries < 1000; tries++) {
    if (bucket.documents.store(request, result) === Status.success) return true;
    await realClock.sleep(2);
  }
  return false;
}

function memory(bucket: Bucket): string {
  const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  const { rss, heapTotal, external, arrayBuffers } = process.memoryUsage();
  return `mem_used ${mib(bucket.stats().memUsed)}, rss ${mib(rss)}, heap ${mib(heapTotal)}, external ${mib(external)}, buffers ${mib(arrayBuffers)}`;
}

async function run(policy: EvictionPolicy): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'divan-eviction-'));
  try {
    let disk = workerDiskEngine();
    let bucket = await open(policy, folder, disk);
    await timed(`${policy}: write`, () => inParallel((i) => put(bucket, i)));
    await timed(`${policy}: read`, () => inParallel((i) => read(bucket, i)));
    console.log(bucket.stats(), memory(bucket));
    await timed(`${policy}: stop`, () => bucket.stop());
    await disk.stop();
    disk = workerDiskEngine();
    bucket = await timed(`${policy}: start`, () => open(policy, folder, disk));
    assert.equal(bucket.stats().items, count);
    await timed(`${policy}: read`, () => inParallel((i) => read(bucket, i)));
    await bucket.stop();
    await disk.stop();
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function open(
  evictionPolicy: EvictionPolicy,
  folder: string,
  disk: DiskEngine | null,
): Promise<Bucket> {
  const files = { folder: join(folder, 'b'), bucketUuid: 'e', incarnation: 1, fileCount: 4 };
  const now = new Now();
  now.set(realClock.wallMs(), realClock.monotonicMs());
  const bucket = new Bucket({
    type: disk ? 'native' : 'ephemeral',
    rules: { quotaBytes, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 0 },
    evictionPolicy,
    ...(disk ? { storage: { disk, files } } : {}),
    now,
    clock: realClock,
    random: realRandom,
    log: silentLog,
  });
  await bucket.start();
  return bucket;
}

/** Calls `act` as 64 clients at a time would. */
async function inParallel(act: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < count) {
      const i = next++;
      await act(i);
      if (i % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all(Array.from({ length: 64 }, client));
}

async function put(bucket: Bucket, i: number): Promise<void> {
  const request = aRequest(`k${i}`, { vb: vbOf(i), value: textOf(i) });
  for (;;) {
    const status = await whenResident(bucket, () => bucket.documents.store(request, result));
    if (status === Status.success) break;
    assert.equal(status, Status.temporaryFailure);
    await realClock.sleep(2);
  }
  if (i % 1000 === 0) assert.ok(bucket.stats().memUsed <= quotaBytes * 1.05);
}

async function read(bucket: Bucket, i: number): Promise<void> {
  for (;;) {
    const status = await whenResident(bucket, () => find(bucket, i));
    if (status === Status.success) return;
    assert.equal(status, Status.temporaryFailure);
    await realClock.sleep(2);
  }
}

/** The view is valid until the next call. */
function find(bucket: Bucket, i: number): DocumentResult {
  const key = keyOf(`k${i}`);
  const status = bucket.documents.find(vbOf(i), key, 0, key.length, view);
  const text = view.buffer.toString('latin1', view.valueStart, view.valueEnd);
  assert.ok(status !== Status.success || text === textOf(i), `document ${i}`);
  return status;
}

async function whenResident(bucket: Bucket, act: () => DocumentResult): Promise<Status> {
  for (;;) {
    const status = act();
    if (status !== notResident) return status;
    const answer = await fetched(bucket);
    if (answer !== Status.success) return answer;
  }
}

async function timed<T>(title: string, act: () => Promise<T>): Promise<T> {
  const from = realClock.monotonicMs();
  const done = await act();
  const seconds = (realClock.monotonicMs() - from) / 1000;
  console.log(`${title}: ${seconds.toFixed(1)} s, ${Math.round(count / seconds)} documents/s`);
  return done;
}
