// A shard that this process serves as its active: feeds its copies, follows its in-sync set, and decides which nodes leave and join it.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ShardChange, ShardSpec, SyncMember } from '../admin.ts';
import type { Bucket } from '../bucket/bucket.ts';
import type { CutWriter } from '../data/cut.ts';
import { copyKey } from './copy-feed.ts';
import type { DelayedWork } from './delayed-work.ts';
import { DivergedCopies } from './diverged-copies.ts';
import { FedCopies } from './fed-copies.ts';
import type { OpenedMessage, ReportedPosition, ShardRef } from './frames.ts';
import { Handover } from './handover.ts';
import type { Handovers } from './handovers.ts';
import { JoiningCopy } from './joining-copy.ts';
import type { PeerConnections } from './peers.ts';
import { hasSameSet } from './same-set.ts';
import { TakenOver } from './taken-over.ts';

export interface ActiveShardOptions {
  ref: ShardRef;
  /** The vbuckets of the shard. */
  vbs: readonly number[];
  spec: ShardSpec;
  incarnation: number;
  bucket: Bucket;
  peers: PeerConnections;
  /** Shared by all feeds. */
  cuts: CutWriter;
  delayed: DelayedWork;
  handovers: Handovers;
  self: SyncMember;
  /** This process had a copy of the shard until now: the members must have all of its changes before it is served. */
  tookOver: boolean;
  /** The previous active handed the shard over, so the members have all of its changes. */
  isHandedOver: boolean;
  /** Called when a check of the shards would find a change that is due; `dueNow`: for which requests wait. */
  checks: { readonly due: () => void; readonly dueNow: () => void };
  clock: Clock;
  log: Log;
}

/** A member that answers nothing for this long is removed from the in-sync set. */
const silentMs = 1_500;
/** A member that has not received the changes of the shard within this time is removed, too. */
const behindMs = 2_000;
/**
 * A member that lacks changes of a new active for this long is removed, since the shard is not served until then; `needed`: one without which
 * the set has no majority, so that durable writes are refused.
 */
const takeOverMs = { other: 500, needed: 1_000 };

export class ActiveShard {
  private readonly options: ActiveShardOptions;
  private spec: ShardSpec;
  private readonly sinceMs: number;
  /** When this active first looked for copies to feed. */
  private fedSinceMs: number | null = null;
  private readonly copies: FedCopies;
  private readonly diverged: DivergedCopies;
  private readonly takenOver: TakenOver;
  /** By member: until when it has promised this node to follow no higher epoch. Only promises made while it accepted this epoch are noted. */
  private readonly promises = new Map<string, { boot: string; untilMs: number }>();
  /** By member: the seqnos that the shard had at some time (`ms`); the member must have received them `behindMs` later. */
  private readonly marks = new Map<string, { ms: number; seqnos: readonly number[] }>();
  /** For each member that the next process of its node will replace: since when that process is connected. */
  private readonly replaced = new Map<string, { boot: string; ms: number }>();
  /** The change of the map that was requested and whose outcome is not known yet. */
  private change: ShardChange | null = null;
  readonly handover: Handover;
  private readonly joining: JoiningCopy;

  constructor(options: ActiveShardOptions) {
    this.options = options;
    this.spec = options.spec;
    this.sinceMs = options.clock.monotonicMs();
    this.handover = new Handover(options);
    this.joining = new JoiningCopy(options);
    this.diverged = new DivergedCopies(options);
    const diverged = (node: string, vbs: readonly number[]): void => this.diverged.note(node, vbs);
    this.copies = new FedCopies({ ...options, diverged, holdsRequests: () => this.holdsRequests });
    this.takenOver = new TakenOver(options);
    const { bucket, vbs, tookOver } = options;
    const { highSeqno } = bucket.columns;
    // Positions that members reported in an earlier epoch may have been rolled back.
    for (const member of this.others())
      for (const vb of vbs) bucket.progress.discardCopy(vb, copyKey(member));
    for (const vb of vbs) bucket.progress.beginMembers(vb, this.syncSet());
    if (!tookOver || !options.isHandedOver) return;
    for (const member of this.others())
      for (const vb of vbs) bucket.progress.copied(vb, copyKey(member), highSeqno[vb] as number, 0);
  }

  get epoch(): number {
    return this.options.ref.epoch;
  }

  /** Requests for the shard wait until it is taken over or handed over. */
  get holdsRequests(): boolean {
    return this.takenOver.isUnderWay || this.handover.isUnderWay;
  }

  /** The disk of this node lacks some of what this process took over: it acknowledges no write as persisted. */
  get isUnwritten(): boolean {
    return this.spec.lastActive !== undefined;
  }

  /** What waits for the next check of the shard: requests for the shard or its commits, or a copy that joins the set. */
  get waits(): 'requests' | 'copy' | null {
    if (this.holdsRequests || this.joining.member !== null) return 'requests';
    return this.joining.isObserving || this.handover.isComing ? 'copy' : null;
  }

  follow(spec: ShardSpec): void {
    const isSame = this.change === null && hasSameSet(spec, this.spec);
    this.spec = spec;
    if (!isSame) this.updateMembers();
  }

  /** Starts to feed the copies of connected nodes, and stops feeding copies that the map does not have. */
  feedCopies(): void {
    this.fedSinceMs ??= this.options.clock.monotonicMs();
    if (this.copies.size > 0 || this.spec.replicas.length > 0) this.copies.follow(this.spec.replicas);
  }

  positionReported(node: string, row: ReportedPosition): void {
    this.copies.positionReported(node, row);
    if (this.handover.isComing) this.options.checks.due();
    else if (this.handover.isComplete()) this.options.checks.dueNow();
  }

  received(node: string, message: OpenedMessage): void {
    this.copies.received(node, message);
  }

  resume(node: string): void {
    this.copies.resume(node);
  }

  connectionLost(node: string): void {
    this.copies.end(node);
  }

  /** Copies with another history remove what the active lacks, once they have left the in-sync set, and are then fed again. */
  private rollBackDiverged(): void {
    const isMember = (node: string): boolean => this.others().some((member) => member.node === node);
    if (this.change?.kind === 'leave') return;
    for (const node of this.diverged.rollBack(isMember)) this.copies.openLater(node);
  }

  close(staysActive = true): void {
    this.handover.end(staysActive);
    this.copies.endAll();
    // A write that its members have not received is never acknowledged: another node may serve the shard next.
    for (const vb of this.options.vbs)
      this.options.bucket.progress.setMembers(vb, { ...this.syncSet(), isFrozen: true });
  }

  /** Serves the shard as long as no other node may serve it. */
  serve(): void {
    this.rollBackDiverged();
    this.feedCopies();
    this.followJoining();
    // Until the outcome of a request to stop is known, the successor may serve already.
    const successor = this.takenOver.isUnderWay ? null : this.successor();
    const beganHandover =
      this.change?.kind !== 'stop' && this.handover.follow(successor === null ? null : copyKey(successor));
    if (beganHandover) for (const [, feed] of this.copies.feeds) feed.resume();
    this.options.bucket.serveUntil(this.options.vbs, this.servedUntilMs());
  }

  servedUntilMs(): number {
    const { peers } = this.options;
    if (this.handover.isUnderWay) return 0;
    if (!this.takenOver.isComplete(this.spec.inSync?.length ?? 1)) return 0;
    // In a cluster of two nodes only an operator can fail the active over.
    if (!peers.needsPromise) return Infinity;
    return Math.min(Infinity, ...this.others().map((member) => this.promisedByMs(member)));
  }

  /** An answer counts while the member accepts this epoch: a member that follows a higher epoch answers the heartbeats of this node, too. */
  private promisedByMs({ node, boot }: SyncMember): number {
    const { peers } = this.options;
    const isFed = this.copies.feedOf(node)?.boot === boot && peers.bootOf(node) === boot;
    if (isFed) this.promises.set(node, { boot, untilMs: peers.servesUntilMs(node) });
    const promise = this.promises.get(node);
    // The next process of a member does not know what the one before it promised.
    return promise?.boot === boot ? promise.untilMs : -Infinity;
  }

  /** The change of the in-sync set or of the active that is due; null: none. */
  wantedChange(): ShardChange | null {
    const { shard, epoch } = this.options.ref;
    const members = this.spec.inSync ?? [];
    const successor = this.successor();
    if (successor !== null && this.handover.isComplete())
      return { shard, epoch, kind: 'stop', successor: successor.node, isComplete: true };
    const leaving = members.filter(
      (member) => member.node !== this.options.self.node && this.mustLeave(member),
    );
    const written = this.takenOver.writtenChange(this.spec, leaving);
    // Where another member becomes the last active, the map has that before the earlier one leaves.
    if (written?.by !== undefined) return written;
    const isWritten = written !== null;
    for (const { node } of leaving)
      if (this.mayRemove(node, isWritten))
        return { shard, epoch, kind: 'leave', node, ...(isWritten && { isWritten }) };
    if (written !== null) return written;
    if (this.handover.isUnderWay) return null;
    const member = this.joinDue();
    return member === null ? null : { shard, epoch, kind: 'join', member };
  }

  /** Until the outcome of the change is known, the larger set counts. */
  changeRequested(change: ShardChange): void {
    this.change = change;
    this.updateMembers();
  }

  /** The change was never made: the set is the earlier one. */
  changeNotMade(): void {
    if (this.change?.kind === 'stop') this.handover.postpone();
    this.change = null;
    this.updateMembers();
  }

  /** The outcome of the change is known, and `follow` has got the map that shows it. */
  outcomeKnown(): void {
    if (this.change === null) return;
    // The position of a copy that left is requested again.
    if (this.change.kind === 'leave') this.connectionLost(this.change.node);
    this.change = null;
    this.updateMembers();
  }

  /** The copy that may join the set now. Where there is none, commits may begin to wait for one. */
  private joinDue(): SyncMember | null {
    const candidates = this.candidates();
    const complete = this.joining.completeCandidate(candidates);
    if (complete === null && !this.holdsRequests && this.joining.beginWait(candidates)) this.updateMembers();
    return complete;
  }

  /** While requests wait for the shard, they do not wait for a copy that is not a member. */
  private followJoining(): void {
    if (this.joining.member === null) return;
    this.joining.follow(this.holdsRequests ? [] : this.candidates());
    if (this.joining.member === null) this.updateMembers();
  }

  /** The copies outside of the set that receive each change at once; such a copy may replace an earlier process of its node. */
  private candidates(): SyncMember[] {
    if (this.copies.size === 0) return [];
    const { clock, peers } = this.options;
    const members = this.spec.inSync ?? [];
    return this.copies.feeds.flatMap(([node, feed]) => {
      const { boot } = feed;
      const isMember = members.some((member) => member.node === node && member.boot === boot);
      if (boot === null || !feed.isFollowing || isMember) return [];
      // What was acknowledged before is not known as committed until all members have reported.
      if (this.takenOver.isUnderWay && !this.takenOver.isReceivedBy({ node, boot })) return [];
      // Without a promise of this process the shard would not be served until its next answer.
      if (peers.needsPromise && peers.servesUntilMs(node) <= clock.monotonicMs()) return [];
      return [{ node, boot }];
    });
  }

  /** The member to which the shard is to be handed over, if it is connected with the boot that is a member. */
  private successor(): SyncMember | null {
    const { peers } = this.options;
    const member = (this.spec.inSync ?? []).find(({ node }) => node === this.spec.successor);
    return member !== undefined && peers.bootOf(member.node) === member.boot ? member : null;
  }

  private updateMembers(): void {
    for (const vb of this.options.vbs) this.options.bucket.progress.setMembers(vb, this.syncSet());
  }

  private syncSet() {
    const isFrozen = this.change?.kind === 'leave' && this.needsEveryMember;
    const { member } = this.joining;
    const others = new Set([...this.others(), ...(member === null ? [] : [member])].map(copyKey));
    const size = Math.max(1, this.spec.inSync?.length ?? 0);
    const sizeMax = Math.max(size, this.spec.replicas.length + 1);
    return { others: [...others], size, isFrozen, isUnwritten: this.isUnwritten, sizeMax };
  }

  /** The other members, of the larger set. */
  private others(): SyncMember[] {
    const members = [...(this.spec.inSync ?? [])];
    if (this.change?.kind === 'join') members.push(this.change.member);
    return members.filter(({ node }) => node !== this.options.self.node);
  }

  private mustLeave(member: SyncMember): boolean {
    const { clock, peers } = this.options;
    const { node, boot } = member;
    const now = clock.monotonicMs();
    const connectedBoot = peers.bootOf(node);
    const isReplaced = connectedBoot !== null && connectedBoot !== boot;
    if ((isReplaced || peers.hasEnded(member)) && !this.mayReturn(node, connectedBoot)) return true;
    if (!this.spec.replicas.includes(node) || this.diverged.has(node)) return true;
    const answeredMs = Math.max(peers.answeredMs(node), this.sinceMs);
    if (now - answeredMs > silentMs || this.isBehind(member)) return true;
    const limitMs = this.needsEveryMember ? takeOverMs.needed : takeOverMs.other;
    if (!this.takenOver.isUnderWay || now - (this.fedSinceMs ?? now) < limitMs) return false;
    return !this.takenOver.isReceivedBy(member);
  }

  /**
   * The last active stays until another member has the documents of the shard on its disk: if all members lost their memory, only the last
   * active could restore the shard. `isWritten`: they are on the disk of this node.
   */
  private mayRemove(node: string, isWritten: boolean): boolean {
    if (node === this.spec.lastActive && !isWritten) return false;
    return !this.needsEveryMember || this.takenOver.ensureOnDisk();
  }

  /** Whether the in-sync set would have no majority without one of its members. */
  private get needsEveryMember(): boolean {
    return (this.spec.inSync?.length ?? 0) <= this.options.bucket.progress.majority;
  }

  /**
   * Whether a member stays in the set while its node restarts: without it the set has no majority. The next process of the node soon has what the
   * earlier one had, and then joins in its place.
   */
  private mayReturn(node: string, connectedBoot: string | null): boolean {
    if (!this.needsEveryMember || this.takenOver.isUnderWay) return false;
    if (connectedBoot === null) return true;
    const now = this.options.clock.monotonicMs();
    const found = this.replaced.get(node);
    const since = found?.boot === connectedBoot ? found : { boot: connectedBoot, ms: now };
    this.replaced.set(node, since);
    return now - since.ms <= silentMs;
  }

  /** Whether the member has not received the changes that the shard had `behindMs` ago. */
  private isBehind(member: SyncMember): boolean {
    const { bucket, clock, vbs } = this.options;
    const key = copyKey(member);
    const now = clock.monotonicMs();
    const mark = this.marks.get(key);
    const has = (vb: number, seqno: number): boolean => bucket.progress.receivedSeqno(vb, key) >= seqno;
    if (mark === undefined || vbs.every((vb, index) => has(vb, mark.seqnos[index] as number))) {
      const seqnos = vbs.map((vb) => bucket.columns.highSeqno[vb] as number);
      this.marks.set(key, { ms: now, seqnos });
      return false;
    }
    return now - mark.ms > behindMs;
  }
}
