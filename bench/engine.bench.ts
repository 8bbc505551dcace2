// The data engine without sockets and disk, compared with a plain Map of strings to buffers in the same run: operations per second of
// processor time, which other load of the machine hardly affects.

import { Bucket } from '#kv/bucket/bucket.ts';
import { type DiskEngine, noSizes } from '#kv/data/disk-engine.ts';
import { DurabilityLevel, emptyItemView, type MutationResult } from '#kv/data/documents.ts';
import { Now } from '#kv/vbucket/now.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { Status } from '#wire/status.ts';
import { aRequest } from './support/a-request.ts';

const valueBytes = 256;
const vbuckets = 1024;

/** Keys as a socket delivers them: ranges of one buffer, in a random order. */
interface Keys {
  buffer: Buffer;
  starts: Uint32Array;
  vbs: Uint16Array;
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const count = smoke ? 20_000 : 1_000_000;
  const keys = makeKeys(count);
  const memory = new Bucket({ type: 'ephemeral', ...options });
  await benchBucket('memory', memory, keys, count);
  const perItem = memory.documents.memUsed / count;
  const payload = valueBytes + keys.buffer.length / count;
  console.log(
    `memory: ${perItem.toFixed(0)} B an item, ${(perItem - payload).toFixed(0)} B above key and value`,
  );
  await memory.destroy();
  const files = { folder: 'none', bucketUuid: 'bench', incarnation: 1, fileCount: 4 };
  const native = new Bucket({ type: 'native', storage: { disk: fastDisk, files }, ...options });
  await benchBucket('native', native, keys, count);
  const started = process.threadCpuUsage();
  await native.stop();
  const { user, system } = process.threadCpuUsage(started);
  console.log(`native: cuts of all documents at the stop: ${(count / (user + system)).toFixed(2)} M/s`);
  benchMap(keys, count);
}

const now = new Now();
now.set(realClock.wallMs(), realClock.monotonicMs());
const rules = { quotaBytes: 2 ** 33, maxTtl: 0, durabilityMinLevel: DurabilityLevel.none, replicaNumber: 0 };
const options = { rules, now, clock: realClock, random: realRandom, log: silentLog };

/** Discards every commit at once, so that only the work of the data thread is measured. */
const fastDisk: DiskEngine = {
  open: async () => ({
    opened: [0, 1, 2, 3].map((file) => ({ file, clean: true, closedBy: null, vbuckets: [] })),
    damaged: [],
  }),
  load: async () => {},
  commit: async () => 0,
  drop: async () => {},
  rollBack: async () => true,
  largeItems: async () => ({ batch: new Uint8Array(0), next: null }),
  backfill: async () => ({ batch: new Uint8Array(0), toSeqno: 0, endSeqno: 0, purgeSeqno: 0 }),
  expiredKeys: async () => [],
  collectionKeys: async () => [],
  fetchItems: async () => ({ batch: new Uint8Array(), damaged: [] }),
  reset: async () => {},
  sizes: async () => noSizes,
  compact: async () => ({ bytesBefore: 0, bytesAfter: 0, purged: [] }),
  close: async () => {},
  destroy: async () => {},
  stop: async () => {},
};

async function benchBucket(name: string, bucket: Bucket, keys: Keys, count: number): Promise<void> {
  await bucket.start();
  const { documents } = bucket;
  const request = aRequest(keys.buffer, valueBytes);
  const result: MutationResult = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };
  const view = emptyItemView();
  const store = (i: number): void => {
    request.vb = keys.vbs[i] as number;
    request.keyStart = keys.starts[i] as number;
    request.keyEnd = keys.starts[i + 1] as number;
    if (documents.store(request, result) !== Status.success) throw new Error('store failed');
  };
  const find = (i: number): void => {
    const status = documents.find(
      keys.vbs[i] as number,
      keys.buffer,
      keys.starts[i] as number,
      keys.starts[i + 1] as number,
      view,
    );
    if (status !== Status.success) throw new Error('find failed');
  };
  // Operations run twice: V8 compiles during the first time.
  report(`${name}: first store`, count, store);
  report(`${name}: store again`, count, store);
  report(`${name}: store again`, count, store);
  report(`${name}: find`, count, find);
  report(`${name}: find`, count, find);
}

function benchMap(keys: Keys, count: number): void {
  const map = new Map<string, Buffer>();
  const value = Buffer.alloc(valueBytes, 'v');
  const keyOf = (i: number): string => keys.buffer.toString('latin1', keys.starts[i], keys.starts[i + 1]);
  const store = (i: number): void => void map.set(keyOf(i), Buffer.from(value));
  report('map: first store', count, store);
  report('map: store again', count, store);
  report('map: find', count, (i) => {
    if (!map.get(keyOf(i))) throw new Error('find failed');
  });
}

function report(title: string, count: number, operation: (i: number) => void): void {
  const started = process.threadCpuUsage();
  for (let i = 0; i < count; i++) operation(i);
  const { user, system } = process.threadCpuUsage(started);
  const seconds = (user + system) / 1e6;
  console.log(`${title}: ${(count / seconds / 1e6).toFixed(2)} M/s`);
}

function makeKeys(count: number): Keys {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const other = Math.floor(Math.random() * (i + 1));
    [order[i], order[other]] = [order[other] as number, order[i] as number];
  }
  const starts = new Uint32Array(count + 1);
  const buffer = Buffer.alloc(count * 24);
  let end = 0;
  order.forEach((id, i) => {
    starts[i] = end;
    end += 1 + buffer.write(`user:profile:${id}`, end + 1, 'latin1');
  });
  starts[count] = end;
  const vbs = Uint16Array.from(order, (id) => Math.imul(id, 0x9e3779b1) >>> 22);
  return { buffer: buffer.subarray(0, end), starts, vbs: vbs.map((vb) => vb % vbuckets) };
}
