// The rate at which changes in memory are written to disk: a bucket with the usual number of vbuckets and files, one disk worker.
import { join } from 'node:path';
import { Bucket } from '../../src/kv/bucket/bucket.ts';
import { DurabilityLevel } from '../../src/kv/data/documents.ts';
import { workerDiskEngine } from '../../src/kv/disk/hosts/worker-engine.ts';
import { Now } from '../../src/kv/vbucket/now.ts';
import { realClock } from '../../src/ports/clock.ts';
import { silentLog } from '../../src/ports/log.ts';
import { realRandom } from '../../src/ports/random.ts';
import { aRequest } from './a-request.ts';

const keyBytes = 24;
const valueBytes = 256;
const vbuckets = 1024;
/** Documents stored in one turn. */
const atOnce = 2000;

export async function benchPersistence(folder: string, documents: number): Promise<void> {
  const disk = workerDiskEngine();
  const files = { folder: join(folder, 'bucket'), bucketUuid: 'b'.repeat(32), incarnation: 1, fileCount: 4 };
  const now = new Now();
  const bucket = new Bucket({
    type: 'native',
    rules: { quotaBytes: 2 ** 32, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 0 },
    storage: { disk, files },
    now,
    clock: realClock,
    random: realRandom,
    log: silentLog,
  });
  now.set(realClock.wallMs(), realClock.monotonicMs());
  await bucket.start();
  for (const name of ['new documents', 'the same documents again']) {
    const cpu = process.cpuUsage();
    const startedMs = performance.now();
    await storeAll(bucket, documents);
    while (!isOnDisk(bucket)) await new Promise((resolve) => setTimeout(resolve, 5));
    const rate = documents / (performance.now() - startedMs);
    const { user, system } = process.cpuUsage(cpu);
    const each = (user + system) / documents;
    console.log(
      `persistence of ${name}: ${rate.toFixed(0)} k mutations/s, ${each.toFixed(1)} µs of CPU each`,
    );
  }
  await bucket.destroy();
  await disk.stop();
}

async function storeAll({ documents }: Bucket, count: number): Promise<void> {
  const request = aRequest(Buffer.alloc(keyBytes), valueBytes);
  request.keyEnd = keyBytes;
  const result = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };
  for (let i = 0; i < count; i++) {
    const scattered = Math.imul(i, 0x9e3779b1) >>> 0;
    request.vb = scattered % vbuckets;
    request.key.write(`\0key:${scattered.toString(16).padStart(keyBytes - 5, '0')}`, 0, 'latin1');
    if (documents.store(request, result) !== 0) throw new Error('a document was refused');
    if (i % atOnce === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

function isOnDisk({ documents }: Bucket): boolean {
  for (let vb = 0; vb < vbuckets; vb++) {
    if (documents.persistedSeqno(vb) < documents.highSeqno(vb)) return false;
  }
  return true;
}
