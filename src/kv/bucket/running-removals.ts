// The removals of a bucket that are under way. The states of their vbuckets are written before or after them: a state that is taken from
// memory meanwhile would reach the disk after the removal, and bring the vbucket back without its documents.

export class RunningRemovals {
  private readonly ends = new Map<number, Promise<void>>();

  /** Resolves when the removal of one of these vbuckets has ended; null: none of them is being removed. */
  endOf(vbs: readonly number[]): Promise<void> | null {
    const vb = vbs.find((one) => this.ends.has(one));
    return vb === undefined ? null : (this.ends.get(vb) as Promise<void>);
  }

  async note(vbs: readonly number[], removal: Promise<void>): Promise<void> {
    const ended = removal.catch(() => {});
    for (const vb of vbs) this.ends.set(vb, ended);
    try {
      await removal;
    } finally {
      for (const vb of vbs) if (this.ends.get(vb) === ended) this.ends.delete(vb);
    }
  }
}
