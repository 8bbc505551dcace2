// Figures of a bucket over all its nodes.
import type { MeasuredBucket } from '../config/data-service.ts';

/** Null while no node has reported. Only the figures in the record of a bucket (the answer of `GET /pools/default/buckets/{bucket}`) are summed; other figures are those of the first node. */
export function sumOf(nodes: readonly (MeasuredBucket | null)[]): MeasuredBucket | null {
  const [first, ...more] = nodes.filter((node) => node !== null);
  return first === undefined ? null : more.reduce(plus, first);
}

function plus(a: MeasuredBucket, b: MeasuredBucket): MeasuredBucket {
  const diskBytes = a.diskBytes + b.diskBytes;
  const fragmentationPercent =
    (a.fragmentationPercent * a.diskBytes + b.fragmentationPercent * b.diskBytes) / (diskBytes || 1);
  return {
    ...a,
    diskBytes,
    items: a.items + b.items,
    memUsedBytes: a.memUsedBytes + b.memUsedBytes,
    dataBytes: a.dataBytes + b.dataBytes,
    nonResident: a.nonResident + b.nonResident,
    fragmentationPercent,
    rates: {
      ops: a.rates.ops + b.rates.ops,
      gets: a.rates.gets + b.rates.gets,
      getHits: a.rates.getHits + b.rates.getHits,
      diskFetches: a.rates.diskFetches + b.rates.diskFetches,
    },
  };
}
