// Refuses requests to a kind of port while too many are in progress, or while the cluster manager uses too much memory. Checked before
// anything else is done for a request.
import type { Reply } from '#contract/route.ts';
import type { Random } from '#ports/random.ts';
import { renderError } from './errors.ts';
import { httpRefusals } from './http.refusals.ts';
import type { Target } from './path.ts';

export interface ThrottleOptions {
  /** Null: no limit. */
  limits(): { requests: number | null; memoryMib: number | null };
  memoryBytes(): number;
  random: Random;
  /** The form of the port's refusals. */
  wording: 'text' | 'json';
}

/** The first tokens of paths that operators need to diagnose a problem and remove a limit: neither refused nor counted. */
const exempt = ['internalSettings', 'diag', 'couchBase', '_p'];

const refusals = {
  text: { requests: httpRefusals.tooManyRequests, memory: httpRefusals.tooMuchMemory },
  json: { requests: httpRefusals.tooManyViewRequests, memory: httpRefusals.tooMuchViewMemory },
};

const mib = 1024 * 1024;
/** Spread, so that clients retry at different times. */
const retryAfterSecondsMax = 10;

export class Throttle {
  readonly #options: ThrottleOptions;
  #inProgress = 0;

  constructor(options: ThrottleOptions) {
    this.#options = options;
  }

  /** Requests that are being answered, streams included. */
  get inProgress(): number {
    return this.#inProgress;
  }

  /** Refuses the request, or counts it; the returned function is called once when the request is over. */
  enter({ tokens }: Target): Reply | (() => void) {
    if (exempt.includes(tokens?.[0] ?? '')) return () => {};
    const limit = this.#limitReached();
    if (limit !== null) return this.#refusal(limit);
    this.#inProgress++;
    return () => void this.#inProgress--;
  }

  #limitReached(): 'requests' | 'memory' | null {
    const { requests, memoryMib } = this.#options.limits();
    if (memoryMib !== null && this.#options.memoryBytes() >= memoryMib * mib) return 'memory';
    return requests !== null && this.#inProgress >= requests ? 'requests' : null;
  }

  #refusal(limit: 'requests' | 'memory'): Reply {
    const { random, wording } = this.#options;
    const seconds = 1 + ((random.bytes(1)[0] as number) % retryAfterSecondsMax);
    return renderError(refusals[wording][limit](), { 'Retry-After': `${seconds}` });
  }
}
