// The sequence lock of a bucket's memory. The data thread takes it with the first change of a turn and releases it when the turn ends:
// an atomic operation for each change would cost more than the change. While no thread reads, the lock stays held: a change then only
// looks at `isHeld`.
import { SequenceLock } from '#base/sequence-lock.ts';

/** Calls `callback` once the calls on the stack have returned, before the thread handles its next input. */
export type AtTurnEnd = (callback: () => void) => void;

/** After a reader has asked, this many turns with changes end with a release. Then the reader has to ask again. */
const turnsPerReader = 64;

export class TurnLock {
  private readonly sequence = new SequenceLock();
  private isHeld = true;
  private isReleaseDue = false;
  private turnsLeft = 0;
  private atTurnEnd: AtTurnEnd | null = null;

  constructor() {
    this.sequence.lock();
  }

  /** Every change of items and indexes begins with this call. */
  hold(): void {
    if (!this.isHeld) this.acquire();
  }

  /** Lets other threads read between turns. Returns the memory of the lock. */
  share(atTurnEnd: AtTurnEnd): SharedArrayBuffer {
    this.atTurnEnd = atTurnEnd;
    this.noteReader();
    return this.sequence.memory;
  }

  /** Another thread reads documents; it may have found the lock held. */
  noteReader(): void {
    this.turnsLeft = turnsPerReader;
    if (this.isHeld) this.releaseAtTurnEnd();
  }

  private acquire(): void {
    this.isHeld = true;
    this.sequence.lock();
    if (this.turnsLeft === 0) return;
    this.turnsLeft--;
    this.releaseAtTurnEnd();
  }

  private releaseAtTurnEnd(): void {
    if (this.isReleaseDue || this.atTurnEnd === null) return;
    this.isReleaseDue = true;
    this.atTurnEnd(this.release);
  }

  private readonly release = (): void => {
    this.isReleaseDue = false;
    this.isHeld = false;
    this.sequence.unlock();
  };
}
