// Everybody who measures, asked together. A source that fails is left out, and said so once until it works again.
import type { Log } from '#ports/log.ts';
import type { FlatSample, HistogramValue, MetricSample, MetricsSource } from './sample.ts';

export class MetricsRegistry {
  private readonly log: Log;
  private readonly sources = new Map<string, MetricsSource>();
  private readonly failing = new Set<string>();

  constructor({ log }: { log: Log }) {
    this.log = log;
  }

  /** From now on this source is asked too; the name is for the log. */
  add(name: string, source: MetricsSource): void {
    this.sources.set(name, source);
  }

  /** All samples of this moment. */
  async collect(): Promise<MetricSample[]> {
    const collected = await Promise.all([...this.sources].map(([name, source]) => this.ask(name, source)));
    return collected.flat();
  }

  private async ask(name: string, source: MetricsSource): Promise<MetricSample[]> {
    try {
      const samples = [...(await source.collect())];
      this.failing.delete(name);
      return samples;
    } catch (error) {
      if (!this.failing.has(name))
        this.log.warn('metrics.sourceFailed', { source: name, reason: String(error) });
      this.failing.add(name);
      return [];
    }
  }
}

/** Histograms become one series per bound, of their sum and of their count. */
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
