// The newest figures of the data service, and rates from the figures before.
import type { BucketReport, KvReport } from '#kv/admin.ts';
import type { MeasuredBucket } from '../config/data-service.ts';

type Counter = 'ops' | 'gets' | 'getHits' | 'diskFetches';
const counters: readonly Counter[] = ['ops', 'gets', 'getHits', 'diskFetches'];
const noRates: Record<Counter, number> = { ops: 0, gets: 0, getHits: 0, diskFetches: 0 };

interface Sample {
  report: BucketReport;
  rates: Record<Counter, number>;
  /** What rates are taken against. */
  base: { atMs: number; report: BucketReport };
}

/** Over less, a rate says nothing. */
const shortestStepMs = 900;

export class Samples {
  #byUuid = new Map<string, Sample>();
  #connections = 0;

  /** Takes a report; answers whether the condition of any bucket changed. Rates are those since the report before. */
  take(report: KvReport, nowMs: number): boolean {
    const before = this.#byUuid;
    this.#connections = report.connections;
    this.#byUuid = new Map(
      report.buckets.map((bucket) => [bucket.uuid, next(before.get(bucket.uuid), bucket, nowMs)]),
    );
    return (
      before.size !== this.#byUuid.size ||
      report.buckets.some((bucket) => conditionOf(bucket) !== conditionOf(before.get(bucket.uuid)?.report))
    );
  }

  /** Some bucket is on its way, so that there will be news soon. */
  isWarming(): boolean {
    return [...this.#byUuid.values()].some(({ report }) => report.state === 'warmup');
  }

  connections(): number {
    return this.#connections;
  }

  measured(uuid: string): MeasuredBucket | null {
    const sample = this.#byUuid.get(uuid);
    if (!sample) return null;
    const { report, rates } = sample;
    return {
      state: report.state,
      troubles: troublesOf(report),
      items: report.items,
      memUsedBytes: report.memUsed,
      dataBytes: report.dataBytes,
      diskBytes: report.diskBytes,
      freeDiskBytes: report.freeDiskBytes,
      fragmentationPercent: fragmentationPercent(report),
      compaction: report.compaction,
      warmUp: report.warmUp,
      dirtyItems: report.dirtyItems,
      nonResident: report.nonResident,
      collectionItems: report.collectionItems,
      rates,
    };
  }
}

/** Of whole pages: pages are never quite full, in a file that was just written neither. */
function fragmentationPercent({ dataBytes, freeDiskBytes }: BucketReport): number {
  const pageBytes = dataBytes + freeDiskBytes;
  return pageBytes === 0 ? 0 : Math.round((100 * freeDiskBytes) / pageBytes);
}

const conditionOf = (report: BucketReport | undefined): string =>
  report ? [report.state, ...troublesOf(report)].join('\n') : '';

function troublesOf({ name, damaged, writeFailure }: BucketReport): string[] {
  return [
    ...damaged.map(
      ({ path, reason }) => `Bucket "${name}" has a file that cannot be read: ${path}: ${reason}`,
    ),
    ...(writeFailure === null ? [] : [`Bucket "${name}" takes no writes: ${writeFailure}`]),
  ];
}

function next(before: Sample | undefined, report: BucketReport, nowMs: number): Sample {
  if (!before) return { report, rates: noRates, base: { atMs: nowMs, report } };
  if (nowMs - before.base.atMs < shortestStepMs) return { ...before, report };
  const seconds = (nowMs - before.base.atMs) / 1000;
  return { report, rates: rates(before.base.report, report, seconds), base: { atMs: nowMs, report } };
}

/** Counters start anew when a bucket does; then there is no rate for one step. */
function rates(from: BucketReport, to: BucketReport, seconds: number): Record<Counter, number> {
  if (seconds <= 0) return noRates;
  return Object.fromEntries(
    counters.map((name) => [name, Math.max(to[name] - from[name], 0) / seconds]),
  ) as Record<Counter, number>;
}
