// A limited number of places that users share, such as those of running statements. When all are taken, a few more are reserved for users who
// have none, so that one user cannot keep out others.

export interface PlaceLimits {
  /** For all users together. */
  readonly places: number;
  /** Places in addition to these, only for users who have none. */
  readonly spare: number;
}

/** So many users without places stay in the map: V8 makes the map's table anew with every second addition to an empty one. */
const keptUsers = 16;

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

  countOf(user: string): number {
    return this.#counts.get(user) ?? 0;
  }

  mayTake(user: string): boolean {
    const { places, spare } = this.#limits();
    return this.#total < places || (this.#total < places + spare && this.countOf(user) === 0);
  }

  occupy(user: string): void {
    this.#total++;
    this.#counts.set(user, this.countOf(user) + 1);
  }

  release(user: string): void {
    this.#total--;
    const left = this.countOf(user) - 1;
    if (left > 0 || this.#counts.size <= keptUsers) this.#counts.set(user, left);
    else this.#counts.delete(user);
  }

  /** The index in `waiting` of the first item whose user may take another place and has the fewest; -1: no user may. */
  next(waiting: readonly { readonly user: string }[]): number {
    let best = -1;
    let fewest = Infinity;
    for (let at = 0; at < waiting.length && fewest > 0; at++) {
      const { user } = waiting[at] as { user: string };
      const count = this.countOf(user);
      if (count >= fewest || !this.mayTake(user)) continue;
      best = at;
      fewest = count;
    }
    return best;
  }
}

/** The items that wait for places. The length of the queue is limited by `PlaceLimits` of its own, so that one user cannot fill it. */
export class UserQueue<T extends { readonly user: string }> {
  readonly #limits: UserPlaces;
  readonly #waiting: T[] = [];

  constructor(limits: () => PlaceLimits) {
    this.#limits = new UserPlaces(limits);
  }

  get length(): number {
    return this.#waiting.length;
  }

  mayAdd(user: string): boolean {
    return this.#limits.mayTake(user);
  }

  add(item: T): void {
    this.#waiting.push(item);
    this.#limits.occupy(item.user);
  }

  /** Returns false if the item is not in the queue. */
  remove(item: T): boolean {
    const at = this.#waiting.indexOf(item);
    if (at >= 0) this.#removeAt(at);
    return at >= 0;
  }

  /** Removes and returns the item that gets the next of these places. Undefined if none may get one. */
  shiftNext(places: UserPlaces): T | undefined {
    const at = places.next(this.#waiting);
    return at < 0 ? undefined : this.#removeAt(at);
  }

  removeAll(): T[] {
    return Array.from({ length: this.length }, () => this.#removeAt(0));
  }

  #removeAt(at: number): T {
    const [item] = this.#waiting.splice(at, 1) as [T];
    this.#limits.release(item.user);
    return item;
  }
}
