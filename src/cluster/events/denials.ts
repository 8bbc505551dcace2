// Failed logins and refused permissions, aggregated while they continue, so that a thousand guessed passwords
// make two entries a minute.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Attributes, EventName } from './event-kinds.ts';

/** The denials of one user and address are counted together for this time. */
export const windowMs = 60_000;
/** How many combinations of a kind, a user and an address are counted separately in a minute; all others are counted together. */
export const sendersMax = 100;

export interface DenialsDeps {
  clock: Clock;
  record(name: EventName, attributes: Attributes): void;
}

interface Counted {
  name: EventName;
  attributes: Attributes;
  count: number;
}

export class Denials {
  readonly #deps: DenialsDeps;
  readonly #counted = new Map<string, Counted>();
  #timer: Timer | null = null;

  constructor(deps: DenialsDeps) {
    this.#deps = deps;
  }

  /** Reports the first denial of a user and address at once, the others at the end of the minute. */
  add(name: EventName, attributes: Attributes): void {
    const key = JSON.stringify([name, attributes['user'], attributes['domain'], attributes['from']]);
    const counted = this.#counted.get(key);
    if (counted) counted.count++;
    else if (this.#counted.size < sendersMax) {
      this.#counted.set(key, { name, attributes, count: 0 });
      this.#deps.record(name, { ...attributes, count: 1 });
    } else this.#addOther(name, attributes);
    this.#timer ??= this.#deps.clock.after(windowMs, () => this.flush());
  }

  /** Reports the aggregated denials. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    for (const { name, attributes, count } of this.#counted.values())
      if (count > 0) this.#deps.record(name, { ...attributes, count });
    this.#counted.clear();
  }

  #addOther(name: EventName, attributes: Attributes): void {
    const key = `others ${name}`;
    const others = this.#counted.get(key);
    if (others) others.count++;
    else {
      const { domain: _domain, real_user: _sender, ...rest } = attributes;
      this.#counted.set(key, { name, attributes: { ...rest, user: null, from: 'many' }, count: 1 });
    }
  }
}
