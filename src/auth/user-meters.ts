// Meters each user's requests to a service: concurrent ones, and the number and bytes in the current minute.
import type { Clock } from '#ports/clock.ts';
import type { ServiceLimits } from './user-limits.ts';

interface Meter {
  running: number;
  /** When the current minute began. */
  minuteStartMs: number;
  queries: number;
  ingressBytes: number;
  egressBytes: number;
}

const minuteMs = 60_000;
const mib = 1 << 20;

/** The order in which published servers name exceeded limits. */
const measures: readonly {
  limit: string;
  publishedName: string;
  used: (meter: Meter) => number;
  unit: number;
}[] = [
  {
    limit: 'num_concurrent_requests',
    publishedName: 'num_concurrent_requests',
    used: (m) => m.running,
    unit: 1,
  },
  { limit: 'num_queries_per_min', publishedName: 'num_queries_per_min', used: (m) => m.queries, unit: 1 },
  { limit: 'ingress_mib_per_min', publishedName: 'ingress', used: (m) => m.ingressBytes, unit: mib },
  { limit: 'egress_mib_per_min', publishedName: 'egress', used: (m) => m.egressBytes, unit: mib },
];

export class UserMeters {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #meters = new Map<string, Meter>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Returns the names of the reached limits; if there are none, counts the request until `leave`. */
  enter(user: string, limits: ServiceLimits, ingressBytes: number): readonly string[] {
    const meter = this.#meterOf(user);
    const reached = measures.filter(
      ({ limit, used, unit }) => used(meter) >= (limits[limit] ?? Infinity) * unit,
    );
    if (reached.length > 0) return reached.map(({ publishedName }) => publishedName);
    meter.running++;
    meter.queries++;
    meter.ingressBytes += ingressBytes;
    return [];
  }

  /** Counts bytes of a body whose length was not known before. */
  received(user: string, bytes: number): void {
    this.#meterOf(user).ingressBytes += bytes;
  }

  /** Counts bytes of an answer while it is sent. */
  sent(user: string, bytes: number): void {
    this.#meterOf(user).egressBytes += bytes;
  }

  leave(user: string, egressBytes: number): void {
    const meter = this.#meterOf(user);
    meter.running--;
    meter.egressBytes += egressBytes;
  }

  /** A new minute begins with the first request after the end of the last minute. Meters of users without requests are removed. */
  #meterOf(user: string): Meter {
    const nowMs = this.#clock.monotonicMs();
    const existing = this.#meters.get(user);
    if (existing && nowMs - existing.minuteStartMs < minuteMs) return existing;
    const counters = { minuteStartMs: nowMs, queries: 0, ingressBytes: 0, egressBytes: 0 };
    if (existing) return Object.assign(existing, counters);
    for (const [name, meter] of this.#meters)
      if (meter.running === 0 && nowMs - meter.minuteStartMs >= minuteMs) this.#meters.delete(name);
    const meter = { running: 0, ...counters };
    this.#meters.set(user, meter);
    return meter;
  }
}
