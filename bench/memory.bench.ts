// Memory of many small documents in one bucket, and the duration of the slowest write, which grows a table.
import { Bucket } from '#kv/bucket/bucket.ts';
import { DurabilityLevel } from '#kv/data/documents.ts';
import { Now } from '#kv/vbucket/now.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { Status } from '#wire/status.ts';
import { aRequest } from './support/a-request.ts';

const valueBytes = 100;
/** The aim: a document takes at most this much memory besides its key and value. */
const metadataBytesMax = 60;
const vbuckets = 1024;

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  await measure('all in one vbucket', smoke ? 20_000 : 1_000_000, () => 0);
  const count = smoke ? 100_000 : 10_000_000;
  await measure('spread over 1,024 vbuckets', count, (i) => Math.imul(i, 0x9e3779b1) >>> 22);
}

async function measure(title: string, count: number, vbOf: (i: number) => number): Promise<void> {
  const now = new Now();
  now.set(realClock.wallMs(), realClock.monotonicMs());
  const rules = {
    quotaBytes: 2 ** 35,
    maxTtl: 0,
    durabilityMinLevel: DurabilityLevel.none,
    replicaNumber: 0,
  };
  const options = { rules, now, clock: realClock, random: realRandom, log: silentLog };
  const bucket = new Bucket({ type: 'ephemeral', vbucketCount: vbuckets, ...options });
  await bucket.start();
  globalThis.gc?.();
  const residentBytesBefore = process.memoryUsage().rss;
  const { payload, longestMs } = fill(bucket, count, vbOf);
  const residentBytes = process.memoryUsage().rss - residentBytesBefore;
  const allowed = payload + metadataBytesMax * count;
  console.log(`${title}: ${count} documents of ${valueBytes} B, keys and values ${mib(payload)} MiB`);
  console.log(`  mem_used ${mib(bucket.documents.memUsed)} MiB, resident ${mib(residentBytes)} MiB`);
  console.log(
    `  resident / (keys + values + ${metadataBytesMax} B each): ${(residentBytes / allowed).toFixed(2)}`,
  );
  console.log(`  longest write: ${longestMs.toFixed(2)} ms`);
  await bucket.destroy();
}

function fill(
  bucket: Bucket,
  count: number,
  vbOf: (i: number) => number,
): { payload: number; longestMs: number } {
  const key = Buffer.alloc(32);
  const request = aRequest(key, valueBytes);
  const result = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };
  let payload = 0;
  let longestMs = 0;
  let lastMs = realClock.monotonicMs();
  for (let i = 0; i < count; i++) {
    request.vb = vbOf(i);
    request.keyEnd = 1 + key.write(`user:${i}`, 1, 'latin1');
    if (bucket.documents.store(request, result) !== Status.success) throw new Error('store failed');
    payload += request.keyEnd + valueBytes;
    const atMs = realClock.monotonicMs();
    longestMs = Math.max(longestMs, atMs - lastMs);
    lastMs = atMs;
  }
  return { payload, longestMs };
}

const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
