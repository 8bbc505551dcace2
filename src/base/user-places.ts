// Places that users share: when all are taken, a few more are left for users who have none, so that one user cannot keep out others.

export interface PlaceLimits {
  /** For everybody. */
  readonly places: number;
  /** Beyond them, for users who have no place. */
  readonly spare: number;
}

export class UserPlaces {
  readonly #limits: () => PlaceLimits;
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor(limits: () => PlaceLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  of(user: string): number {
    return this.#counts.get(user) ?? 0;
  }

  mayTake(user: string): boolean {
    const { places, spare } = this.#limits();
    return this.#total < places || (this.#total < places + spare && !this.#counts.has(user));
  }

  take(user: string): void {
    this.#total++;
    this.#counts.set(user, this.of(user) + 1);
  }

  leave(user: string): void {
    this.#total--;
    const left = this.of(user) - 1;
    if (left > 0) this.#counts.set(user, left);
    else this.#counts.delete(user);
  }

  /** The position of the waiting user who gets the next place: of those who may take one the first with the fewest places; -1: none. */
  next(waiting: readonly { readonly user: string }[]): number {
    let best = -1;
    let fewest = Infinity;
    for (let at = 0; at < waiting.length && fewest > 0; at++) {
      const { user } = waiting[at] as { user: string };
      const count = this.of(user);
      if (count >= fewest || !this.mayTake(user)) continue;
      best = at;
      fewest = count;
    }
    return best;
  }
}
