// Durable writes that wait for the disk. Each is in memory and in the dirty list already, but not visible; it becomes the
// committed version when its seqno is persisted, whether or not its client still waits.
import type { Clock, Timer } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import { emptyPlace, type Place, type Vbuckets } from '../../vbucket/vbuckets.ts';

export const durableWriteLimit = 65_536;
const defaultTimeoutMs = 30_000;
const checkEveryMs = 50;

interface DurableWrite {
  seqno: number;
  hash: number;
  /** Address of the pending version, which does not move. */
  address: number;
  /** 0 once the client was answered that the outcome is ambiguous. */
  token: number;
  deadlineMs: number;
}

export class DurableWrites {
  private readonly byRow = new Map<number, DurableWrite[]>();
  private readonly vbuckets: Vbuckets;
  private readonly place = emptyPlace();
  private readonly clock: Clock;
  private readonly resolved: (token: number, status: Status) => void;
  private lastToken = 0;
  private count = 0;
  private timer: Timer | null = null;

  constructor(options: {
    vbuckets: Vbuckets;
    clock: Clock;
    resolved: (token: number, status: Status) => void;
  }) {
    this.vbuckets = options.vbuckets;
    this.clock = options.clock;
    this.resolved = options.resolved;
  }

  get isFull(): boolean {
    return this.count >= durableWriteLimit;
  }

  /** Adds the pending version at `place`; returns the token with which it will be resolved. */
  add(place: Place, seqno: number, timeoutMs: number): number {
    const { row, hash } = place;
    const address = this.vbuckets.pendingAt(place);
    const deadlineMs = this.clock.monotonicMs() + (timeoutMs || defaultTimeoutMs);
    const token = ++this.lastToken;
    const write = { seqno, hash, address, token, deadlineMs };
    const queue = this.byRow.get(row);
    if (queue) queue.push(write);
    else this.byRow.set(row, [write]);
    this.count++;
    this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
    return token;
  }

  /** Seqno of the row's first unresolved write; Infinity when there is none. */
  firstUnresolved(row: number): number {
    return this.byRow.get(row)?.[0]?.seqno ?? Infinity;
  }

  /** Commits the row's writes up to `seqno`, which are on disk now. */
  persisted(row: number, seqno: number): void {
    const queue = this.byRow.get(row);
    if (!queue) return;
    const open = queue.findIndex((write) => write.seqno > seqno);
    const done = open < 0 ? queue.splice(0) : queue.splice(0, open);
    if (queue.length === 0) this.byRow.delete(row);
    this.count -= done.length;
    for (const write of done) this.commit(row, write);
  }

  /** Answers all clients as ambiguous, since the disk is lost. A write whose commit still completes becomes visible then. */
  resolveAmbiguous(): void {
    for (const write of [...this.byRow.values()].flat()) this.resolve(write, Status.syncWriteAmbiguous);
  }

  /** The same for the writes of a row that another node serves from now on: only that node knows their outcome. A copy has no pending versions. */
  depose(row: number): void {
    for (const write of this.byRow.get(row) ?? []) this.resolve(write, Status.syncWriteAmbiguous);
    this.persisted(row, Infinity);
  }

  /** Discards all writes, since the bucket is being emptied. */
  clear(): void {
    this.resolveAmbiguous();
    this.byRow.clear();
    this.count = 0;
    this.timer?.cancel();
    this.timer = null;
  }

  private commit(row: number, write: DurableWrite): void {
    const { place, vbuckets } = this;
    if (vbuckets.lookForPending(place, row, write.hash, write.address)) vbuckets.commitPending(place);
    this.resolve(write, Status.success);
  }

  private resolve(write: DurableWrite, status: Status): void {
    const { token } = write;
    write.token = 0;
    if (token !== 0) this.resolved(token, status);
  }

  private checkDeadlines(): void {
    this.timer = null;
    const now = this.clock.monotonicMs();
    const late = [...this.byRow.values()]
      .flat()
      .filter((write) => write.token !== 0 && write.deadlineMs <= now);
    for (const write of late) this.resolve(write, Status.syncWriteAmbiguous);
    if (this.count > 0) this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
  }
}
