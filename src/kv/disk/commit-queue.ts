// The queue of the commits in one lane that clients wait for: each is encoded when the one before has ended, so that it contains what was
// written meanwhile.

export class CommitQueue {
  private last: Promise<void> = Promise.resolve();

  /** Resolves when all earlier commits have ended, with a function that ends this one. */
  async next(): Promise<() => void> {
    const { last } = this;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.last = promise;
    await last;
    return resolve;
  }
}
