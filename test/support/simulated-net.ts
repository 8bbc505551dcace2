// Messages between named nodes of a simulation. Each link has its own order, a random delay, and faults that a test sets; losses
// and delays depend only on the seed.

import type { Random } from './random.ts';
import type { SimulatedClock } from './simulated-clock.ts';

export interface LinkFaults {
  /** Percentage of lost messages. */
  lostPercent: number;
  /** Percentage of duplicated messages. */
  doubledPercent: number;
  /** The longest delay. */
  delayMaxMs: number;
  /** False: messages overtake each other, as over several connections. */
  keepsOrder: boolean;
}

export const noLinkFaults: LinkFaults = {
  lostPercent: 0,
  doubledPercent: 0,
  delayMaxMs: 2,
  keepsOrder: true,
};

export class SimulatedNet<M> {
  readonly #clock: SimulatedClock;
  readonly #random: Random;
  readonly #nodes = new Map<string, (from: string, message: M) => void>();
  readonly #cut = new Set<string>();
  readonly #lastMs = new Map<string, number>();
  faults: LinkFaults = noLinkFaults;

  constructor(clock: SimulatedClock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** An earlier node of that name gets no further messages. */
  attach(name: string, receive: (from: string, message: M) => void): void {
    this.#nodes.set(name, receive);
  }

  /** Messages in transit to it are lost. */
  detach(name: string): void {
    this.#nodes.delete(name);
  }

  /** Drops messages in this direction only. */
  cut(from: string, to: string): void {
    this.#cut.add(linkOf(from, to));
  }

  heal(): void {
    this.#cut.clear();
    this.faults = noLinkFaults;
  }

  send(from: string, to: string, message: M): void {
    if (this.#random(100) < this.faults.lostPercent) return;
    this.#carry(from, to, message);
    if (this.#random(100) < this.faults.doubledPercent) this.#carry(from, to, message);
  }

  /** A cut also drops messages in transit. */
  #carry(from: string, to: string, message: M): void {
    const link = linkOf(from, to);
    const receiver = this.#nodes.get(to);
    const arrivesMs = this.#arrival(link);
    this.#clock.after(arrivesMs - this.#clock.monotonicMs(), () => {
      if (this.#cut.has(link) || receiver === undefined || this.#nodes.get(to) !== receiver) return;
      receiver(from, message);
    });
  }

  #arrival(link: string): number {
    const atMs = this.#clock.monotonicMs() + this.#random(this.faults.delayMaxMs + 1);
    const arrivesMs = this.faults.keepsOrder ? Math.max(atMs, this.#lastMs.get(link) ?? 0) : atMs;
    this.#lastMs.set(link, arrivesMs);
    return arrivesMs;
  }
}

const linkOf = (from: string, to: string): string => `${from} -> ${to}`;
