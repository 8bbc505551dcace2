// System events that are in memory until they are persisted. Those of a commit are removed in slices: one commit may hold those of a
// thousand collections in a hundred vbuckets.
import type { Clock } from '#ports/clock.ts';
import { emptyPosition, setPosition } from './item-position.ts';
import type { Vbuckets } from './vbuckets.ts';

/** Events removed in one turn: about a millisecond. Those of one vbucket are not divided. */
const removedPerTurn = 512;

interface UnwrittenEvent {
  hash: number;
  seqno: number;
}

export class UnwrittenEvents {
  private readonly vbuckets: Vbuckets;
  private readonly clock: Pick<Clock, 'soon'>;
  /** By vbucket. */
  private readonly events = new Map<number, UnwrittenEvent[]>();
  /** By vbucket: the seqno up to which its events are persisted and wait for their removal. */
  private readonly persistedTo = new Map<number, number>();
  private isScheduled = false;
  private readonly position = emptyPosition();

  constructor(vbuckets: Vbuckets, clock: Pick<Clock, 'soon'>) {
    this.vbuckets = vbuckets;
    this.clock = clock;
  }

  add(vb: number, hash: number, seqno: number): void {
    const events = this.events.get(vb);
    if (events) events.push({ hash, seqno });
    else this.events.set(vb, [{ hash, seqno }]);
  }

  /** Called when the vbucket's changes up to `seqno` are persisted. */
  persisted(vb: number, seqno: number): void {
    if (!this.events.has(vb)) return;
    this.persistedTo.set(vb, seqno);
    this.schedule();
  }

  discard(vb: number): void {
    this.events.delete(vb);
    this.persistedTo.delete(vb);
  }

  clear(): void {
    this.events.clear();
    this.persistedTo.clear();
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    this.clock.soon(() => this.work());
  }

  private work(): void {
    this.isScheduled = false;
    let visitsLeft = removedPerTurn;
    for (const [vb, seqno] of this.persistedTo) {
      if (visitsLeft <= 0) {
        this.schedule();
        return;
      }
      visitsLeft -= this.removeUpTo(vb, seqno);
      this.persistedTo.delete(vb);
    }
  }

  /** Returns how many events it visited. */
  private removeUpTo(vb: number, seqno: number): number {
    const events = this.events.get(vb) ?? [];
    const remaining = events.filter((event) => event.seqno > seqno);
    for (const event of events) if (event.seqno <= seqno) this.remove(vb, event);
    if (remaining.length === 0) this.events.delete(vb);
    else this.events.set(vb, remaining);
    return events.length;
  }

  private remove(vb: number, { hash, seqno }: UnwrittenEvent): void {
    const { index, items } = this.vbuckets;
    const { position } = this;
    const slot = index.locateWhere(vb, hash, (address) => items.seqno(address) === seqno);
    if (slot < 0) return;
    setPosition(position, vb, hash, slot, index.address(vb, slot));
    this.vbuckets.discard(position);
  }
}
