// Work that must not overlap: of one key one after the other, of different keys at the same time.
export class InTurn {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Begins when all that was asked for this key before is over, however it ended. */
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
