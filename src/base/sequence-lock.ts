// A sequence lock: one thread changes data in shared memory; others read the data without waiting, and see afterwards whether it
// changed meanwhile. The number in the lock is odd while the writer holds it.
const lockBytes = 4;

/** What `begin` returns while the writer holds the lock. */
export const changingSequence = -1;

export class SequenceLock {
  readonly memory: SharedArrayBuffer;
  private readonly sequence: Int32Array;
  /** Only for its effect on the order of other accesses; each reader has its own. */
  private readonly barrier = new Int32Array(new SharedArrayBuffer(lockBytes));

  constructor(memory = new SharedArrayBuffer(lockBytes)) {
    this.memory = memory;
    this.sequence = new Int32Array(memory);
  }

  /** The writer takes the lock before it changes anything. */
  lock(): void {
    Atomics.add(this.sequence, 0, 1);
    // An atomic load keeps the changes, which are plain stores, behind the new number: a store alone would let them go ahead of it.
    Atomics.load(this.sequence, 0);
  }

  unlock(): void {
    Atomics.add(this.sequence, 0, 1);
  }

  /** A reader takes the number before it reads. */
  begin(): number {
    const sequence = Atomics.load(this.sequence, 0);
    return (sequence & 1) === 0 ? sequence : changingSequence;
  }

  /** Whether everything that was read since `begin` returned the number belongs together. */
  isUnchanged(since: number): boolean {
    // An atomic store keeps the plain loads of the reader ahead of the second load of the number.
    Atomics.store(this.barrier, 0, 0);
    return Atomics.load(this.sequence, 0) === since;
  }
}
