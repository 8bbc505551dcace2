// The turns of commits that clients wait for, in one lane: the next one is encoded when the one before has ended, so that it contains what
// was written meanwhile.

export class CommitTurns {
  private last: Promise<void> = Promise.resolve();

  /** Resolves, in the order of the calls, when all earlier turns have ended, with what ends this one. */
  async next(): Promise<() => void> {
    const { last } = this;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.last = promise;
    await last;
    return resolve;
  }
}
