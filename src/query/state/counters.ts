// Counters of the service since its start, by the published names.
import { RequestRates } from './request-rates.ts';
import { RequestTimes } from './request-times.ts';

const counterNames = [
  'requests',
  'cancelled',
  'selects',
  'updates',
  'inserts',
  'deletes',
  'transactions',
  'index_scans',
  'primary_scans',
  'invalid_requests',
  'request_time',
  'service_time',
  'result_count',
  'result_size',
  'errors',
  'warnings',
  'mutations',
  'requests_250ms',
  'requests_500ms',
  'requests_1000ms',
  'requests_5000ms',
  'prepared',
  'unbounded',
  'at_plus',
  'scan_plus',
] as const;

export type CounterName = (typeof counterNames)[number];

const slowThresholdsMs = [250, 500, 1000, 5000] as const;
const statementCounters: Readonly<Record<string, CounterName>> = {
  SELECT: 'selects',
  UPDATE: 'updates',
  MERGE: 'updates',
  INSERT: 'inserts',
  UPSERT: 'inserts',
  DELETE: 'deletes',
  START_TRANSACTION: 'transactions',
};

export interface RequestFigures {
  readonly kind: string | null;
  readonly consistency: string;
  readonly isPrepared: boolean;
  readonly isCancelled: boolean;
  readonly elapsedMs: number;
  readonly serviceMs: number;
  readonly rows: number;
  readonly bytes: number;
  readonly errors: number;
  readonly warnings: number;
  readonly mutations: number;
  readonly phases: ReadonlyMap<string, { operators: number }>;
}

export class Counters {
  readonly values = Object.fromEntries(counterNames.map((name) => [name, 0])) as Record<CounterName, number>;
  readonly times = new RequestTimes();
  readonly rates: RequestRates;

  constructor(nowMs: number) {
    this.rates = new RequestRates(nowMs);
  }

  add(name: CounterName, by = 1): void {
    this.values[name] += by;
  }

  /** Counts a finished request. Times are in nanoseconds, as on published servers. */
  completed(figures: RequestFigures, nowMs: number): void {
    // Named members instead of `add`: V8 reads them at a fixed offset in the object.
    const { values } = this;
    values.requests++;
    values.request_time += Math.round(figures.elapsedMs * 1e6);
    values.service_time += Math.round(figures.serviceMs * 1e6);
    values.result_count += figures.rows;
    values.result_size += figures.bytes;
    values.errors += figures.errors;
    values.warnings += figures.warnings;
    values.mutations += figures.mutations;
    if (figures.isCancelled) values.cancelled++;
    if (figures.isPrepared) values.prepared++;
    const statementCounter = figures.kind === null ? undefined : statementCounters[figures.kind];
    if (statementCounter !== undefined) values[statementCounter]++;
    if (figures.consistency === 'not_bounded') values.unbounded++;
    else if (figures.consistency === 'at_plus') values.at_plus++;
    else values.scan_plus++;
    for (const thresholdMs of slowThresholdsMs)
      if (figures.elapsedMs >= thresholdMs) this.add(`requests_${thresholdMs}ms`);
    values.index_scans += figures.phases.get('indexScan')?.operators ?? 0;
    values.primary_scans += figures.phases.get('primaryScan')?.operators ?? 0;
    this.times.add(figures.elapsedMs);
    this.rates.add(nowMs);
  }
}
