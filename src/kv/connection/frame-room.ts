// The memory that one connection has reserved for large frames: for the arriving one, and for those that are held, for the disk or for
// heavy work, until they have run again.
import type { HeldReply } from '../served/held-reply.ts';
import type { InputBudget, RoomWaiter } from './input-budget.ts';

export class FrameRoom {
  private readonly input: InputBudget;
  private readonly waiter: RoomWaiter;
  private arrivingBytes = 0;
  private heldBytes = 0;
  /** The user to whom the memory is accounted. */
  private owner = '';

  constructor(input: InputBudget, waiter: RoomWaiter) {
    this.input = input;
    this.waiter = waiter;
  }

  get isReserved(): boolean {
    return this.arrivingBytes > 0;
  }

  /** Whether another request waits for the reserved memory. */
  get isWanted(): boolean {
    return this.arrivingBytes + this.heldBytes > 0 && this.input.isWantedFrom(this.owner);
  }

  /** Reserves memory for the arriving frame; false if there is not enough: the waiter then gets a call when some is released. */
  reserve(user: string, bytes: number): boolean {
    if (!this.input.reserve(user, bytes, this.waiter)) return false;
    this.arrivingBytes = bytes;
    this.owner = user;
    return true;
  }

  /** The frame that has arrived was run. `held` is the reply that it has held, if any. */
  arrivedRan(held: HeldReply | null): void {
    if (this.arrivingBytes === 0) return;
    const bytes = this.arrivingBytes;
    this.arrivingBytes = 0;
    this.pass(bytes, held);
  }

  /** The frame of a held reply was run again, or its reply was sent. */
  heldRan({ roomBytes }: HeldReply, held: HeldReply | null): void {
    if (roomBytes === 0) return;
    this.heldBytes -= roomBytes;
    this.pass(roomBytes, held);
  }

  /** The connection is closed. */
  end(): void {
    this.input.discard(this.waiter);
    this.release(this.arrivingBytes + this.heldBytes);
    this.arrivingBytes = this.heldBytes = 0;
  }

  /** Releases the memory, unless the frame is held. */
  private pass(bytes: number, held: HeldReply | null): void {
    if (held === null || held.frame.length === 0) {
      this.release(bytes);
      return;
    }
    held.roomBytes = bytes;
    this.heldBytes += bytes;
  }

  private release(bytes: number): void {
    if (bytes > 0) this.input.release(this.owner, bytes);
  }
}
