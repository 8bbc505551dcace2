// System events that are in memory until they are persisted. Those of a commit are removed in slices: one commit may hold those of a
// thousand collections in a hundred vbuckets.
import type { Clock } from '#ports/clock.ts';
import { emptyPosition, type Vbuckets } from './vbuckets.ts';

/** Events removed in one turn: about a millisecond. Those of one vbucket are not divided. */
const removedPerTurn = 512;

interface UnwrittenEvent {
  hash: number;
  seqno: number;
}

export class UnwrittenEvents {
  private readonly vbuckets: Vbuckets;
  private readonly clock: Pick<Clock, 'soon'>;
  /** By row. */
  private readonly events = new Map<number, UnwrittenEvent[]>();
  /** By row: the seqno up to which its events are persisted and wait for their removal. */
  private readonly persistedTo = new Map<number, number>();
  private isScheduled = false;
  private readonly position = emptyPosition();

  constructor(vbuckets: Vbuckets, clock: Pick<Clock, 'soon'>) {
    this.vbuckets = vbuckets;
    this.clock = clock;
  }

  add(row: number, hash: number, seqno: number): void {
    const events = this.events.get(row);
    if (events) events.push({ hash, seqno });
    else this.events.set(row, [{ hash, seqno }]);
  }

  /** Called when the vbucket's changes up to `seqno` are persisted. */
  persisted(row: number, seqno: number): void {
    if (!this.events.has(row)) return;
    this.persistedTo.set(row, seqno);
    this.schedule();
  }

  discard(row: number): void {
    this.events.delete(row);
    this.persistedTo.delete(row);
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
    for (const [row, seqno] of this.persistedTo) {
      if (visitsLeft <= 0) {
        this.schedule();
        return;
      }
      visitsLeft -= this.removeUpTo(row, seqno);
      this.persistedTo.delete(row);
    }
  }

  /** Returns how many events it visited. */
  private removeUpTo(row: number, seqno: number): number {
    const events = this.events.get(row) ?? [];
    const remaining = events.filter((event) => event.seqno > seqno);
    for (const event of events) if (event.seqno <= seqno) this.remove(row, event);
    if (remaining.length === 0) this.events.delete(row);
    else this.events.set(row, remaining);
    return events.length;
  }

  private remove(row: number, { hash, seqno }: UnwrittenEvent): void {
    const { index, items } = this.vbuckets;
    const { position } = this;
    const slot = index.locateWhere(row, hash, (address) => items.seqno(address) === seqno);
    if (slot < 0) return;
    Object.assign(position, { row, hash, slot, address: index.address(row, slot) });
    this.vbuckets.discard(position);
  }
}
