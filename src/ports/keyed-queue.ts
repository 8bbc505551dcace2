// A queue for each key: work of one key runs in order, one after the other; work of different keys runs concurrently.
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Starts when all earlier work of this key has ended, successfully or not. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const removeEntry = () => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    };
    const ended: Promise<unknown> = result.then(removeEntry, removeEntry);
    this.#last.set(key, ended);
    return result;
  }
}
