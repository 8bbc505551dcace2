// Asks what is measured each second, and keeps it: every second's for the last minutes, every tenth for good.
import type { Clock, Timer } from '#ports/clock.ts';
import { flatten, type MetricsRegistry } from './registry.ts';
import type { FlatSample } from './sample.ts';

const stepMs = 1_000;
const keptEvery = 10;
/** A tick that comes only so late is stamped with the second it was for, which compresses better. */
const toleratedMs = 50;

export interface SampleSink {
  append(timeMs: number, samples: Iterable<FlatSample>): void;
  appendRecent(timeMs: number, samples: Iterable<FlatSample>): void;
}

export class Sampler {
  readonly #registry: MetricsRegistry;
  readonly #sink: SampleSink;
  readonly #clock: Clock;
  #timer: Timer | null = null;
  #isStopped = false;
  #lastKept = 0;

  constructor({ registry, sink, clock }: { registry: MetricsRegistry; sink: SampleSink; clock: Clock }) {
    this.#registry = registry;
    this.#sink = sink;
    this.#clock = clock;
  }

  start(): void {
    const untilNext = stepMs - (this.#clock.wallMs() % stepMs);
    this.#timer = this.#clock.after(untilNext, () => void this.#tick());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #tick(): Promise<void> {
    const nowMs = this.#clock.wallMs();
    const second = Math.floor(nowMs / stepMs);
    const timeMs = nowMs - second * stepMs <= toleratedMs ? second * stepMs : nowMs;
    const samples = [...flatten(await this.#registry.collect())];
    if (this.#isStopped) return;
    this.#sink.appendRecent(timeMs, samples);
    const kept = Math.floor(second / keptEvery);
    if (kept !== this.#lastKept) this.#sink.append(timeMs, samples);
    this.#lastKept = kept;
    this.start();
  }
}
