// The newest figures of the data service, and rates computed against earlier figures.
import type { BucketReport, KvReport } from '#kv/admin.ts';
import type { MeasuredBucket } from '../config/data-service.ts';

type Counter = (typeof counters)[number];
type Rates = Record<Counter, number>;
const counters = ['ops', 'gets', 'getHits', 'diskFetches'] as const;
const noRates = Object.fromEntries(counters.map((name) => [name, 0])) as Rates;

interface Sample {
  report: BucketReport;
  rates: Rates;
  requestedMs: number;
  /** The report against which the next rates are computed. */
  base: { atMs: number; report: BucketReport };
}

interface ReportTime {
  monotonicMs: number;
  /** Reports can arrive in another order than they were requested in: an earlier one does not replace a later one. */
  requestedMs: number;
}

/** The shortest interval of a rate: over shorter ones the noise is too large. */
const shortestStepMs = 900;

export class Samples {
  #byUuid = new Map<string, Sample>();
  #report: KvReport | null = null;

  /** Stores a report and returns whether the state of any bucket changed. Computes rates against an earlier report. */
  update(report: KvReport, now: ReportTime): boolean {
    const before = this.#byUuid;
    this.#report = report;
    this.#byUuid = new Map(
      report.buckets.map((bucket) => [bucket.uuid, sampleAfter(before.get(bucket.uuid), bucket, now)]),
    );
    return (
      before.size !== this.#byUuid.size ||
      report.buckets.some((bucket) => conditionOf(bucket) !== conditionOf(before.get(bucket.uuid)?.report))
    );
  }

  /** Like `update`, for a report of one bucket: the others keep what they reported last. */
  updateOne(uuid: string, report: KvReport, now: ReportTime): boolean {
    const others = (this.#report?.buckets ?? []).filter((bucket) => bucket.uuid !== uuid);
    const before = this.#byUuid.get(uuid);
    const bucket = report.buckets.find((reported) => reported.uuid === uuid);
    this.#report = { ...report, buckets: bucket === undefined ? others : [...others, bucket] };
    if (bucket === undefined) this.#byUuid.delete(uuid);
    else this.#byUuid.set(uuid, sampleAfter(before, bucket, now));
    return conditionOf(bucket) !== conditionOf(before?.report);
  }

  /** True if a bucket is starting, so that its state changes soon. */
  isWarming(): boolean {
    return [...this.#byUuid.values()].some(({ report }) => report.state === 'warmup');
  }

  connections(): number {
    return this.#report?.connections ?? 0;
  }

  /** The newest report. */
  report(): KvReport | null {
    return this.#report;
  }

  measured(uuid: string): MeasuredBucket | null {
    const sample = this.#byUuid.get(uuid);
    if (!sample) return null;
    const { report, rates } = sample;
    return {
      state: report.state,
      problems: problemsOf(report),
      items: report.items,
      replicaItems: report.vbuckets.replica.items,
      pendingItems: report.vbuckets.pending.items,
      memUsedBytes: report.memUsed,
      dataBytes: report.dataBytes,
      diskBytes: report.diskBytes,
      freeDiskBytes: report.freeDiskBytes,
      fragmentationPercent: fragmentationPercent(report),
      compaction: report.compaction,
      warmUp: report.warmUp,
      metaBytes: report.activity.memory.meta,
      memoryRefusals: report.activity.memoryRefusals,
      failedCommits: report.activity.failedCommits,
      writesAheadOfClock: report.activity.drift.active.ahead + report.activity.drift.replica.ahead,
      dirtyItems: report.dirtyItems,
      nonResident: report.nonResident,
      collectionItems: report.collectionItems,
      rates,
    };
  }
}

/** Counts whole pages, since pages are never completely full, even in a new file. */
function fragmentationPercent({ dataBytes, freeDiskBytes }: BucketReport): number {
  const pageBytes = dataBytes + freeDiskBytes;
  return pageBytes === 0 ? 0 : Math.round((100 * freeDiskBytes) / pageBytes);
}

/** The part of a report whose change is notified to listeners. */
const conditionOf = (report: BucketReport | undefined): string =>
  report ? [report.state, ...problemsOf(report)].join('\n') : '';

function problemsOf({ name, damaged, warmUp, writeFailure }: BucketReport): string[] {
  return [
    ...damaged.map(
      ({ path, reason }) => `Bucket "${name}" has a file that cannot be read: ${path}: ${reason}`,
    ),
    ...(warmUp?.noSpace === undefined
      ? []
      : [`Bucket "${name}" waits for disk space to open ${warmUp.noSpace}`]),
    ...(writeFailure === null ? [] : [`Bucket "${name}" takes no writes: ${writeFailure}`]),
  ];
}

function sampleAfter(before: Sample | undefined, report: BucketReport, now: ReportTime): Sample {
  const { requestedMs } = now;
  const base = { atMs: now.monotonicMs, report };
  if (!before) return { report, rates: noRates, base, requestedMs };
  if (before.requestedMs > requestedMs) return before;
  if (now.monotonicMs - before.base.atMs < shortestStepMs) return { ...before, report, requestedMs };
  const rates = ratesOf(before.base.report, report, (now.monotonicMs - before.base.atMs) / 1000);
  return { report, rates, base, requestedMs };
}

/** Counters restart at zero when their bucket restarts; the rate of a counter that decreased is 0. */
function ratesOf(from: BucketReport, to: BucketReport, seconds: number): Rates {
  if (seconds <= 0) return noRates;
  return Object.fromEntries(
    counters.map((name) => [name, Math.max(to[name] - from[name], 0) / seconds]),
  ) as Rates;
}
