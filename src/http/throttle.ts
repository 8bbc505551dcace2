// The limit of concurrent requests on a kind of port, and of the memory in use meanwhile. Checked before anything else
// is done for a request.
import { type Reply, reply } from '#contract/route.ts';
import type { Random } from '#ports/random.ts';
import type { Target } from './path.ts';

export interface ThrottleOptions {
  /** Null: no limit. */
  limits(): { requests: number | null; memoryMib: number | null };
  memoryBytes(): number;
  random: Random;
  /** The form of the port's refusals. */
  wording: 'text' | 'json';
}

/** Paths that operators need to diagnose a problem and remove a limit: neither refused nor counted. */
const exempt = ['internalSettings', 'diag', 'couchBase', '_p'];

const reasons = {
  request_limit_exceeded:
    'Request throttled because maximum number of simultaneous connections has been exceeded',
  memory_limit_exceeded: 'Request throttled because memory limit has been exceeded',
} as const;

const mib = 1024 * 1024;
/** Spread, so that clients retry at different times. */
const retryAfterSecondsMax = 10;

export class Throttle {
  readonly #options: ThrottleOptions;
  #inHand = 0;

  constructor(options: ThrottleOptions) {
    this.#options = options;
  }

  /** Requests that are being answered, streams included. */
  get inHand(): number {
    return this.#inHand;
  }

  /** Refuses the request, or counts it; the returned function is called once when the request is over. */
  enter({ tokens }: Target): Reply | (() => void) {
    if (exempt.includes(tokens?.[0] ?? '')) return () => {};
    const error = this.#error();
    if (error !== null) return this.#refusal(error);
    this.#inHand++;
    return () => void this.#inHand--;
  }

  #error(): keyof typeof reasons | null {
    const { requests, memoryMib } = this.#options.limits();
    if (memoryMib !== null && this.#options.memoryBytes() >= memoryMib * mib) return 'memory_limit_exceeded';
    return requests !== null && this.#inHand >= requests ? 'request_limit_exceeded' : null;
  }

  #refusal(error: keyof typeof reasons): Reply {
    const { random, wording } = this.#options;
    const seconds = 1 + ((random.bytes(1)[0] as number) % retryAfterSecondsMax);
    const headers = { 'Retry-After': `${seconds}` };
    if (wording === 'json') return reply.json({ error, reason: reasons[error] }, 503, headers);
    return reply.text(reasons[error], 503, headers);
  }
}
