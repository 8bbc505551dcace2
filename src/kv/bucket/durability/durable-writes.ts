// Durable writes that wait for the disk or for copies. Each is in memory and in the dirty list already, but not visible; it becomes the
// committed version when its seqno reaches its level, whether or not its client still waits. Where copies are missing, one whose outcome was
// answered as ambiguous becomes committed once it is on disk: streams of its vbucket, and all writes of its document, wait until then.
import type { Clock, Timer } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import { DurabilityLevel } from '../../data/documents.ts';
import { emptyPosition, type ItemPosition } from '../../vbucket/item-position.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import type { VbucketProgress } from './progress.ts';

export const durableWritesMax = 65_536;
const defaultTimeoutMs = 30_000;
/** Interval of the checks of deadlines. */
const checkEveryMs = 50;

interface DurableWrite {
  seqno: number;
  level: DurabilityLevel;
  hash: number;
  /** Address of the pending version, which does not move. */
  address: number;
  /** 0 once the client was answered that the outcome is ambiguous. */
  token: number;
  deadlineMs: number;
}

type Progress = Pick<VbucketProgress, 'reaches' | 'lacksCopies' | 'isSafeBelowMajority'>;

const awaitsCopiesOnDisk = ({ level }: DurableWrite): boolean => level === DurabilityLevel.persistToMajority;

export class DurableWrites {
  /** By vbucket, in the order of their seqnos. An array, not a map: it is looked up several times for each change. */
  private readonly queues: (DurableWrite[] | undefined)[];
  private readonly vbuckets: Vbuckets;
  private readonly position = emptyPosition();
  private readonly progress: Progress;
  private readonly clock: Clock;
  private readonly resolved: (token: number, status: Status) => void;
  private lastToken = 0;
  private count = 0;
  private timer: Timer | null = null;

  constructor(options: {
    vbuckets: Vbuckets;
    progress: Progress;
    clock: Clock;
    resolved: (token: number, status: Status) => void;
  }) {
    this.vbuckets = options.vbuckets;
    this.queues = new Array<DurableWrite[] | undefined>(options.vbuckets.columns.count).fill(undefined);
    this.progress = options.progress;
    this.clock = options.clock;
    this.resolved = options.resolved;
  }

  get isFull(): boolean {
    return this.count >= durableWritesMax;
  }

  /** Adds the pending version at `position`; returns the token with which it will be resolved. */
  add(position: ItemPosition, seqno: number, level: DurabilityLevel, timeoutMs: number): number {
    const { vb, hash } = position;
    const address = this.vbuckets.pendingAt(position);
    const deadlineMs = this.clock.monotonicMs() + (timeoutMs || defaultTimeoutMs);
    const token = ++this.lastToken;
    const write = { seqno, level, hash, address, token, deadlineMs };
    const queue = this.queues[vb];
    if (queue) queue.push(write);
    else this.queues[vb] = [write];
    this.count++;
    this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
    return token;
  }

  /** Seqno of the vbucket's first unresolved write; Infinity when there is none. */
  firstUnresolved(vb: number): number {
    return this.count === 0 ? Infinity : (this.queues[vb]?.[0]?.seqno ?? Infinity);
  }

  /**
   * The newest seqno up to this one that is not of an unresolved write: a client that waits for the seqno of such a write may wait as
   * long as copies are missing.
   */
  newestResolved(vb: number, seqno: number): number {
    const writes = this.queues[vb] ?? [];
    let newest = seqno;
    for (let at = writes.length - 1; at >= 0 && (writes[at] as DurableWrite).seqno >= newest; at--)
      if (writes[at]?.seqno === newest) newest--;
    return newest;
  }

  /** Whether a write of the vbucket waits until copies have it on disk. */
  awaitCopiesOnDisk(vb: number): boolean {
    return this.queues[vb]?.some(awaitsCopiesOnDisk) ?? false;
  }

  persisted(vb: number): void {
    this.commitReached(vb);
  }

  committed(vb: number): void {
    this.commitReached(vb);
  }

  /** Answers all clients as ambiguous, since the disk is lost. A write whose commit still completes becomes visible then. */
  resolveAmbiguous(): void {
    for (const write of this.all()) this.resolve(write, Status.syncWriteAmbiguous);
  }

  /**
   * Answers the clients of a vbucket's writes as ambiguous: another node serves the vbucket from now on, and only that node knows the outcome.
   * The pending versions become committed ones here, because a copy has no pending versions.
   */
  depose(vb: number): void {
    const writes = this.queues[vb] ?? [];
    for (const write of writes) this.resolve(write, Status.syncWriteAmbiguous);
    this.commitAll(vb, writes, []);
  }

  /** Discards all writes: the bucket stops, or is emptied. */
  clear(): void {
    this.resolveAmbiguous();
    this.queues.fill(undefined);
    this.count = 0;
    this.timer?.cancel();
    this.timer = null;
  }

  private commitReached(vb: number): void {
    if (this.count === 0) return;
    this.commitAcknowledged(vb);
    const queue = this.queues[vb];
    if (!queue) return;
    if (this.progress.lacksCopies(vb))
      for (const write of queue) this.resolve(write, Status.syncWriteAmbiguous);
    this.commitAmbiguous(vb, queue);
  }

  /** Commits writes whose clients were answered as ambiguous, while the in-sync set has no majority that could receive the writes. */
  private commitAmbiguous(vb: number, queue: readonly DurableWrite[]): void {
    const { progress } = this;
    const isDue = ({ token, seqno }: DurableWrite): boolean =>
      token === 0 && progress.isSafeBelowMajority(vb, seqno);
    if (!queue.some(isDue)) return;
    const left = queue.filter((write) => !isDue(write));
    this.commitAll(vb, queue.filter(isDue), left);
  }

  private commitAcknowledged(vb: number): void {
    const queue = this.queues[vb];
    if (!queue) return;
    const { progress } = this;
    let count = 0;
    for (const { level, seqno } of queue) if (progress.reaches(vb, seqno, level)) count++;
    if (count === 0) return;
    if (count === queue.length) {
      this.commitAll(vb, queue, []);
      return;
    }
    const reached: DurableWrite[] = [];
    const left: DurableWrite[] = [];
    for (const write of queue) (progress.reaches(vb, write.seqno, write.level) ? reached : left).push(write);
    this.commitAll(vb, reached, left);
  }

  private commitAll(vb: number, writes: readonly DurableWrite[], left: DurableWrite[]): void {
    this.queues[vb] = left.length === 0 ? undefined : left;
    this.count -= writes.length;
    for (const write of writes) this.commit(vb, write);
  }

  private commit(vb: number, write: DurableWrite): void {
    const { position, vbuckets } = this;
    if (vbuckets.locatePending(position, vb, write.hash, write.address)) vbuckets.commitPending(position);
    this.resolve(write, Status.success);
  }

  private resolve(write: DurableWrite, status: Status): void {
    const { token } = write;
    write.token = 0;
    if (token !== 0) this.resolved(token, status);
  }

  private all(): DurableWrite[] {
    return this.queues.flatMap((queue) => queue ?? []);
  }

  private checkDeadlines(): void {
    this.timer = null;
    const now = this.clock.monotonicMs();
    const isExpired = ({ token, deadlineMs }: DurableWrite): boolean => token !== 0 && deadlineMs <= now;
    for (const [vb, queue] of this.queues.entries()) {
      const expired = queue?.filter(isExpired) ?? [];
      for (const write of expired) this.resolve(write, Status.syncWriteAmbiguous);
      if (queue !== undefined && expired.length > 0) this.commitAmbiguous(vb, queue);
    }
    if (this.count > 0) this.timer ??= this.clock.after(checkEveryMs, () => this.checkDeadlines());
  }
}
