// Iterators whose next result may be there at once. A generator takes several promises for each batch of rows, and a short statement has one
// small batch in each of its operators.

export type Step<T> = IteratorResult<T, undefined>;

export const ended: Step<never> = { done: true, value: undefined };

/** A caller requests the next result only after the previous one has arrived. After an error the iterator has ended. */
export abstract class StepIterator<T> implements AsyncIterableIterator<T> {
  /** The next result, or a promise of it if the iterator waits for something. */
  abstract step(): Step<T> | Promise<Step<T>>;

  /** Ends the iterator and its inputs, as leaving a loop over it does. */
  abstract return(): Promise<Step<T>>;

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step<T>> {
    try {
      return Promise.resolve(this.step());
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

/** The next result of any iterator, at once if it is there. */
export function nextStepOf<T>(iterator: AsyncIterator<T>): IteratorResult<T> | Promise<IteratorResult<T>> {
  return iterator instanceof StepIterator ? (iterator as StepIterator<T>).step() : iterator.next();
}

/** One batch that is there at once. */
export class OneBatch<T> extends StepIterator<T> {
  #batch: T | null;

  constructor(batch: T) {
    super();
    this.#batch = batch;
  }

  step(): Step<T> {
    const batch = this.#batch;
    this.#batch = null;
    return batch === null ? ended : { done: false, value: batch };
  }

  return(): Promise<Step<T>> {
    this.#batch = null;
    return Promise.resolve(ended);
  }
}
