// Serializes work by key: work of one key runs in order, work of different keys concurrently.
export class InTurn {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Starts when all earlier work of this key has ended, successfully or not. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const forget = () => {
      if (this.#last.get(key) === over) this.#last.delete(key);
    };
    const over: Promise<unknown> = mine.then(forget, forget);
    this.#last.set(key, over);
    return mine;
  }
}
