// The metrics sources of a node, collected together. A failing source is skipped; the failure is logged once until it works again.
import type { Log } from '#ports/log.ts';
import type { FlatSample, HistogramValue, MetricSample, MetricsSource } from './sample.ts';

export class MetricsRegistry {
  private readonly log: Log;
  private readonly sources = new Map<string, MetricsSource>();
  private readonly failing = new Set<string>();
  private logsFailures = true;

  constructor({ log }: { log: Log }) {
    this.log = log;
  }

  /** Adds a source; the name is for the log. */
  add(name: string, source: MetricsSource): void {
    this.sources.set(name, source);
  }

  /** From now on failures are not logged: a stopping node ends its sources one by one, and `collect` of an ended source fails. */
  ignoreFailures(): void {
    this.logsFailures = false;
  }

  /** Collects the current samples of all sources. */
  async collect(): Promise<MetricSample[]> {
    const collected = await Promise.all(
      [...this.sources].map(([name, source]) => this.collectFrom(name, source)),
    );
    return collected.flat();
  }

  private async collectFrom(name: string, source: MetricsSource): Promise<MetricSample[]> {
    try {
      const samples = [...(await source.collect())];
      this.failing.delete(name);
      return samples;
    } catch (error) {
      if (this.logsFailures && !this.failing.has(name))
        this.log.warn('metrics.source_failed', { source: name, reason: String(error) });
      this.failing.add(name);
      return [];
    }
  }
}

/** Expands a histogram into one series per bound, one for the sum and one for the count. */
export function* flatten(samples: Iterable<MetricSample>): Generator<FlatSample> {
  for (const sample of samples) {
    if (sample.kind === 'histogram') yield* flattenHistogram(sample.name, sample.labels, sample.value);
    else yield sample;
  }
}

function* flattenHistogram(
  name: string,
  labels: FlatSample['labels'],
  { bounds, counts, sum }: HistogramValue,
): Generator<FlatSample> {
  for (const [index, bound] of [...bounds, Number.POSITIVE_INFINITY].entries()) {
    const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : String(bound);
    yield { name: `${name}_bucket`, labels: { ...labels, le }, value: counts[index] ?? 0 };
  }
  yield { name: `${name}_sum`, labels, value: sum };
  yield { name: `${name}_count`, labels, value: counts.at(-1) ?? 0 };
}
