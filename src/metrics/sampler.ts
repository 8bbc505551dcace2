// Collects samples every second while clients work or read recent metrics, else every tenth second. Every tenth second's
// samples go to the store; all go to the in-memory series of the last minutes. A collection that fails is skipped and logged.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { flatten, type MetricsRegistry } from './registry.ts';
import type { FlatSample } from './sample.ts';

const stepMs = 1_000;
const storedEvery = 10;
const quietStepMs = stepMs * storedEvery;
/** How long a read of recent metrics keeps the sampler at one second. */
const watchedMs = 60_000;
/** A counter that grows while clients work. */
const activity = 'kv_ops';
/** A tick at most this late gets the timestamp of its second, which compresses better. */
const toleratedMs = 50;

export interface SampleSink {
  append(timeMs: number, samples: Iterable<FlatSample>): void;
  appendRecent(timeMs: number, samples: Iterable<FlatSample>): void;
}

interface SamplerOptions {
  registry: MetricsRegistry;
  sink: SampleSink;
  clock: Clock;
  log: Log;
}

export class Sampler {
  readonly #registry: MetricsRegistry;
  readonly #sink: SampleSink;
  readonly #clock: Clock;
  readonly #log: Log;
  #isFailing = false;
  #timer: Timer | null = null;
  #isStopped = false;
  #isCollecting = false;
  #watchedUntilMs = Number.NEGATIVE_INFINITY;
  /** The operations of clients by the last samples; -1 before the first. */
  #operations = -1;
  /** Whether clients worked between the last two samples. */
  #isBusy = true;
  /** The number of the ten seconds whose samples were stored last. */
  #lastStored = 0;

  constructor({ registry, sink, clock, log }: SamplerOptions) {
    this.#registry = registry;
    this.#sink = sink;
    this.#clock = clock;
    this.#log = log;
  }

  /** Schedules the next collection. */
  start(): void {
    const isWatched = this.#clock.monotonicMs() < this.#watchedUntilMs;
    const intervalMs = this.#isBusy || isWatched ? stepMs : quietStepMs;
    const untilNextMs = intervalMs - (this.#clock.wallMs() % intervalMs);
    this.#timer = this.#clock.after(untilNextMs, () => void this.#tick());
  }

  /** Reports a read of recent metrics: the sampler collects every second for a while. */
  watched(): void {
    this.#watchedUntilMs = this.#clock.monotonicMs() + watchedMs;
    if (this.#isBusy || this.#isCollecting || this.#timer === null || this.#isStopped) return;
    this.#timer.cancel();
    this.start();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #tick(): Promise<void> {
    const nowMs = this.#clock.wallMs();
    const second = Math.floor(nowMs / stepMs);
    const timeMs = nowMs - second * stepMs <= toleratedMs ? second * stepMs : nowMs;
    this.#isCollecting = true;
    try {
      const samples = [...flatten(await this.#registry.collect())];
      if (!this.#isStopped) this.#keep(timeMs, second, samples);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#log.error('metrics.sample_failed', { reason: String(error) });
      this.#isFailing = true;
    }
    this.#isCollecting = false;
    if (!this.#isStopped) this.start();
  }

  #keep(timeMs: number, second: number, samples: readonly FlatSample[]): void {
    this.#noteActivity(samples);
    this.#sink.appendRecent(timeMs, samples);
    const tenSeconds = Math.floor(second / storedEvery);
    const isNew = tenSeconds !== this.#lastStored;
    this.#lastStored = tenSeconds;
    if (isNew) this.#sink.append(timeMs, samples);
  }

  #noteActivity(samples: readonly FlatSample[]): void {
    const operations = samples.reduce((sum, { name, value }) => (name === activity ? sum + value : sum), 0);
    this.#isBusy = operations !== this.#operations;
    this.#operations = operations;
  }
}
