// The replication of one bucket on this node: the shards that this process serves and feeds to copies, their in-sync sets, and the
// shards that are copies, which other nodes feed.
import type { ShardChange, ShardSpec } from '../admin.ts';
import { vbsOfShard } from '../bucket/shard-positions.ts';
import { CutWriter } from '../data/cut.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import { ActiveShard } from './active-shard.ts';
import { AnnouncedWrites } from './announced-writes.ts';
import type { BucketReplicationOptions } from './bucket-replication-options.ts';
import { CheckTimes } from './check-times.ts';
import { confirmation, isUnconfirmed } from './confirmation.ts';
import { ContinuedBoots } from './continued-boots.ts';
import { CopyIntake, type ShardIntake } from './copy-intake.ts';
import { adoptHistories, positionOf } from './copy-position.ts';
import { CopyReports } from './copy-reports.ts';
import { CopyRollbacks } from './copy-rollbacks.ts';
import { DelayedWork } from './delayed-work.ts';
import { dueChanges } from './due-changes.ts';
import { EarlierActives } from './earlier-actives.ts';
import { EpochWrites } from './epoch-writes.ts';
import type { BatchBody, CopyBatch, Open, OpenedMessage, PeerMessage } from './frames.ts';
import { Handovers } from './handovers.ts';
import { eachPosition } from './position-rows.ts';
import { servedShardState } from './served-shard-state.ts';
import { ShardDrops } from './shard-drops.ts';
import { ShardPreparation } from './shard-preparation.ts';
import { UnappliedBytes } from './unapplied-bytes.ts';

/** The pause between requests for a change while the store cannot be reached. */
const storeRetryMs = 500;

export class BucketReplication {
  private readonly options: BucketReplicationOptions;
  private specs: readonly ShardSpec[] = [];
  private revision = -1;
  private readonly actives = new Map<number, ActiveShard>();
  private readonly intakes = new Map<number, ShardIntake>();
  private readonly unapplied = new UnappliedBytes();
  private readonly earlier: EarlierActives;
  private readonly drops: ShardDrops;
  private readonly reports: CopyReports;
  private readonly rollbacks: CopyRollbacks;
  private readonly cuts = new CutWriter();
  private readonly delayed: DelayedWork;
  private readonly boots: ContinuedBoots;
  private readonly epochWrites: EpochWrites;
  private readonly preparation: ShardPreparation;
  private readonly announced: AnnouncedWrites;
  /** The highest epoch of each shard that any message named. */
  private readonly epochs = new Map<number, number>();
  private readonly handovers: Handovers;
  /** A change of the map is requested, and its outcome is not known yet. */
  private isChanging = false;
  /** No change is requested before this monotonic time, because the store could not be reached. */
  private notBeforeMs = -Infinity;
  /** The outcome of a change is unknown: the map is written again before anything else. */
  private isMapUnknown = false;
  private readonly checks: CheckTimes;
  private readonly endNotices: () => void;
  private isClosed = false;

  constructor(options: BucketReplicationOptions) {
    this.options = options;
    this.checks = new CheckTimes(options.clock, () => this.checkShards());
    this.drops = new ShardDrops({ ...options, ended: () => this.followAgain() });
    this.delayed = new DelayedWork(options.clock);
    this.handovers = new Handovers(options.clock);
    // A queue for reports alone, so that reports do not wait for as long as changes.
    const delayed = new DelayedWork(options.clock);
    this.reports = new CopyReports({ ...options, delayed, columns: options.bucket.columns });
    const { actives, drops, endIntake, epochOf, vbsOf } = this;
    this.rollbacks = new CopyRollbacks({ ...options, actives, drops, endIntake, epochOf, vbsOf });
    this.earlier = new EarlierActives(options.peers);
    this.announced = new AnnouncedWrites({ ...options, vbsOf: this.vbsOf });
    this.preparation = new ShardPreparation({
      ...options,
      vbsOf: this.vbsOf,
      begin: ({ epoch, shard }) => this.raiseEpoch(shard, epoch, options.self.node),
      prepared: (shards, onDisk) => {
        this.announced.epochsWritten(shards);
        this.epochWrites.taken(onDisk);
        options.clock.soon(() => this.checkShards());
      },
    });
    this.boots = new ContinuedBoots({ ...options, own: options.bucket.stoppedBoots });
    this.epochWrites = new EpochWrites({ ...options, boots: this.boots, vbsOf: this.vbsOf });
    options.bucket.servedUntilMs = (vb) => this.servedUntilMs(vb);
    this.endNotices = options.bucket.progress.notifyPersisted((vb) => this.persisted(vb));
  }

  /** Brings the shards to the states of this map, unless a newer one was seen. */
  follow(specs: readonly ShardSpec[], revision: number): void {
    if (this.isClosed || revision <= this.revision) return;
    this.revision = revision;
    this.options.tick();
    this.specs = specs;
    for (const [shard, spec] of specs.entries()) this.refuseEarlier(shard, spec);
    this.announced.follow(specs);
    this.handovers.follow(specs);
    this.followStates();
  }

  received(node: string, message: PeerMessage, body: BatchBody, bytes: number): void {
    if (message.kind === 'batch') this.receiveBatch(node, message, body, bytes);
    else if (message.kind === 'open') this.openIntake(node, message);
    else if (message.kind === 'got')
      eachPosition(message.rows, (row) => this.activeOf(row)?.positionReported(node, row));
    else if (message.kind === 'continued') this.boots.received(node, message);
    else if (message.kind === 'opened' || message.kind === 'failed')
      this.activeOf(message)?.received(node, message);
    else if (message.kind === 'refused') this.followEpoch(message.shard, message.epoch);
    else this.rollbacks.received(node, message, body.bytes);
  }

  private activeOf({ epoch, shard }: { epoch: number; shard: number }): ActiveShard | null {
    const active = this.actives.get(shard);
    return active?.epoch === epoch ? active : null;
  }

  connected(node: string): void {
    this.boots.connected(node);
    for (const active of this.actives.values()) active.feedCopies();
  }

  disconnected(node: string): void {
    this.boots.disconnected(node);
    for (const active of this.actives.values()) active.connectionLost(node);
    for (const [shard, { node: active }] of this.intakes) if (active === node) this.closeIntake(shard);
    this.unapplied.drain(node);
    this.reports.discard(node);
    this.rollbacks.disconnected(node);
  }

  hasRoom(node: string): void {
    for (const active of this.actives.values()) active.resume(node);
  }

  close(): void {
    this.isClosed = true;
    this.endNotices();
    this.announced.close();
    this.checks.stop();
    this.rollbacks.close();
    for (const active of this.actives.values()) active.close();
    this.actives.clear();
    for (const shard of this.intakes.keys()) this.endIntake(shard);
  }

  private refuseEarlier(shard: number, { confirmed, epoch, state }: ShardSpec): void {
    const earlier = state === 'active' && confirmed === undefined ? this.earlier.refuse(shard) : null;
    if (earlier === null) return;
    this.epochs.set(shard, Math.max(epoch, this.epochOf(shard)));
    this.sendEpoch('refused', earlier, shard, this.epochOf(shard));
  }

  private followStates(): void {
    const { bucket, changed, log, uuid } = this.options;
    const states = this.specs.map((spec, shard) => this.stateOf(spec, shard));
    for (const [shard, { state }] of states.entries()) {
      if (state !== 'active') this.retire(shard);
      if (state === 'dead') this.endIntake(shard);
    }
    for (const [shard, spec] of states.entries()) if (spec.state === 'active') this.begin(shard, spec);
    // The states change at once. Later maps do not wait until shards that become active here are on disk.
    const followed = bucket.followShards(states);
    for (const active of this.actives.values()) active.feedCopies();
    this.openEarly();
    // Confirmations do not wait for the next heartbeat.
    this.options.clock.soon(() => this.checkShards());
    followed.then(
      (isChanged) => isChanged && changed(),
      ({ message: reason }: Error) => log.error('replication.states_not_followed', { bucket: uuid, reason }),
    );
  }

  private stateOf(spec: ShardSpec, shard: number): ShardSpec {
    const { bucket, self } = this.options;
    const isServed = bucket.columns.state[shard] === VbucketState.active;
    const isDropping = this.drops.isDropping(shard);
    return servedShardState(spec, { self, epoch: this.epochOf(shard), isServed, isDropping });
  }

  private begin(shard: number, spec: ShardSpec): void {
    const current = this.actives.get(shard);
    if (current?.epoch === spec.epoch) {
      current.follow(spec);
      return;
    }
    current?.close();
    this.endIntake(shard);
    const { state } = this.options.bucket.columns;
    const vbs = this.vbsOf(shard);
    const tookOver = current === undefined && vbs.some((vb) => state[vb] !== VbucketState.active);
    const ref = { bucket: this.options.uuid, shard, epoch: spec.epoch };
    const { checks, cuts, delayed, handovers } = this;
    const parts = { checks, cuts, delayed, handovers };
    const isHandedOver = handovers.isTaken(shard, spec.epoch);
    this.actives.set(
      shard,
      new ActiveShard({ ...this.options, ...parts, ref, vbs, spec, tookOver, isHandedOver }),
    );
  }

  private retire(shard: number): void {
    this.actives.get(shard)?.close(false);
    this.actives.delete(shard);
  }

  private checkShards(): void {
    if (this.isClosed) return;
    this.options.tick();
    this.handovers.beginCheck();
    for (const active of this.actives.values()) active.serve();
    const isReachable = this.options.clock.monotonicMs() >= this.notBeforeMs;
    const confirms = isReachable && !this.isMapUnknown ? this.confirmations() : [];
    const mayChange = isReachable && !this.isChanging;
    const changes = mayChange && !this.isMapUnknown ? dueChanges(confirms, this.actives.values()) : [];
    // Before anything is removed the map is written as it is, because a read may be stale.
    if (mayChange && (this.drops.becomeDue(this.leftovers()) || changes.length > 0 || this.isMapUnknown))
      void this.change(changes);
    this.checks.followWaits(this.actives.values());
  }

  /** The confirmations of shards that are prepared; begins to prepare the others. */
  private confirmations(): readonly ShardChange[] {
    const { boots, drops, earlier, options } = this;
    const due = this.specs.flatMap((spec, shard) => {
      if (!isUnconfirmed(spec, options.self.boot)) return [];
      return confirmation(spec, { ...options, boots, drops, earlier, shard, epoch: this.epochOf(shard) });
    });
    return this.preparation.prepared(due, this.specs);
  }

  private async change(wanted: readonly ShardChange[]): Promise<void> {
    const { change, log, uuid } = this.options;
    this.isChanging = true;
    for (const shardChange of wanted) {
      this.actives.get(shardChange.shard)?.changeRequested(shardChange);
      this.handovers.noteTaken(shardChange, this.specs[shardChange.shard]);
    }
    const changes = this.preparation.areOnDisk(wanted)
      ? wanted
      : await this.epochWrites.write(wanted, this.specs);
    if (changes.length === 0 && wanted.length > 0) return this.endNotMade(wanted);
    const outcome = this.isClosed ? null : await change({ bucketUuid: uuid, changes });
    if (outcome === null || this.isClosed) return;
    if (outcome.kind === 'notMade') return this.endNotMade(changes);
    this.isChanging = false;
    if (outcome.kind === 'unknown' && !this.isMapUnknown)
      log.warn('replication.map_unknown', { bucket: uuid, reason: outcome.reason });
    this.isMapUnknown = outcome.kind === 'unknown';
    if (outcome.kind === 'unknown') return;
    if (outcome.kind === 'done') this.epochWrites.made(changes);
    // First the map: an active shard that the new map gives to another node is not served again by `active.outcomeKnown`.
    this.follow(outcome.shards, outcome.revision);
    for (const active of this.actives.values()) active.outcomeKnown();
    for (const shard of outcome.kind === 'done' && this.drops.areDue ? this.leftovers() : [])
      this.drops.begin(shard, this.vbsOf(shard));
  }

  private endNotMade(changes: readonly ShardChange[]): void {
    this.isChanging = false;
    this.notBeforeMs = this.options.clock.monotonicMs() + storeRetryMs;
    for (const { shard } of changes) this.actives.get(shard)?.changeNotMade();
  }

  /** Applies an epoch of a message: when it is higher, an active shard of this node stops at once. */
  private followEpoch(shard: number, epoch: number): void {
    if (epoch <= this.epochOf(shard)) return;
    this.epochs.set(shard, epoch);
    if ((this.actives.get(shard)?.epoch ?? epoch) >= epoch) return;
    this.options.bucket.serveUntil(this.vbsOf(shard), 0);
    this.retire(shard);
    this.followAgain();
  }

  private followAgain(): void {
    void Promise.resolve().then(() => this.isClosed || this.followStates());
  }

  /** Answers the requests that arrived before this node had the copies. */
  private openEarly(): void {
    const { early, uuid } = this.options;
    if (!this.isClosed)
      for (const { node, open, sinceMs } of early.drain(uuid)) this.openIntake(node, open, sinceMs);
  }

  private openIntake(node: string, open: Open, sinceMs?: number): void {
    const { bucket, early, incarnation } = this.options;
    const { epoch, feed, shard } = open;
    const isKnown = open.incarnation === incarnation && this.specs.length > 0;
    if (isKnown && this.refusesOlder(node, shard, epoch)) return;
    if (isKnown) this.followEpoch(shard, epoch);
    const vbs = isKnown ? this.vbsOf(shard) : [];
    const { highSeqno, state } = bucket.columns;
    const isCopy = (vb: number): boolean =>
      state[vb] === VbucketState.replica || state[vb] === VbucketState.pending;
    // This node has not applied the map that makes it a copy.
    if (vbs.length === 0 || !vbs.every(isCopy) || this.drops.isDropping(shard)) {
      early.add(node, open, sinceMs);
      return;
    }
    early.remove(open);
    this.raiseEpoch(shard, epoch, node);
    this.closeIntake(shard);
    const intake = new CopyIntake({
      ...this.options,
      applier: bucket.applier,
      applied: (batch, bytes) => this.reports.add(node, batch, bytes),
      highSeqno: (vb) => highSeqno[vb] as number,
      failed: (reason) => this.failed(shard, reason),
    });
    this.intakes.set(shard, { node, epoch, intake });
    bucket.shards.revert(vbs);
    adoptHistories(bucket, vbs, open.rows ?? []);
    this.earlier.fedBy(shard, node);
    const positions = vbs.map((vb) => positionOf(bucket, vb));
    this.answer(node, { kind: 'opened', shard, epoch, feed, rows: positions });
  }

  private refusesOlder(node: string, shard: number, epoch: number): boolean {
    const current = this.epochOf(shard);
    if (epoch < current) this.sendEpoch('refused', node, shard, current);
    return epoch < current;
  }

  private sendEpoch(kind: 'refused' | 'failed', node: string, shard: number, epoch: number): void {
    this.answer(node, { kind, shard, epoch, rows: [] });
  }

  private answer(node: string, message: Omit<OpenedMessage, 'bucket' | 'bytes'>): void {
    const { peers, uuid } = this.options;
    this.reports.send(node);
    peers.send(node, { ...message, bucket: uuid, bytes: this.unapplied.drain(node) });
  }

  private raiseEpoch(shard: number, epoch: number, active: string): void {
    const { columns } = this.options.bucket;
    for (const vb of this.vbsOf(shard)) columns.epoch[vb] = Math.max(columns.epoch[vb] as number, epoch);
    // Sent before any later answer of this node to a heartbeat, which the earlier active would take for a promise.
    const earlier = this.earlier.nodeOf(shard);
    if (earlier !== undefined && earlier !== active) this.sendEpoch('refused', earlier, shard, epoch);
  }

  private receiveBatch(node: string, batch: CopyBatch, body: BatchBody, bytes: number): void {
    const { epoch, shard, vb } = batch;
    const current = this.intakes.get(shard);
    const isOlder = epoch < this.epochOf(shard);
    if (!isOlder && current?.node === node && current.epoch === epoch) {
      if (vb % this.specs.length !== shard || vb >= this.options.bucket.columns.count)
        throw new Error(`vbucket ${vb} is of another shard`);
      current.intake.receive(batch, body, bytes);
      return;
    }
    // First, so that the answer confirms these bytes: no later one may follow.
    this.unapplied.add(node, bytes);
    if (!this.refusesOlder(node, shard, epoch)) this.sendEpoch('failed', node, shard, epoch);
  }

  private failed(shard: number, reason: string): void {
    const node = this.intakes.get(shard)?.node ?? '';
    this.options.log.warn('replication.copy_failed', { bucket: this.options.uuid, shard, node, reason });
    this.endIntake(shard);
  }

  private closeIntake(shard: number): ShardIntake | undefined {
    const closed = this.intakes.get(shard);
    if (!this.intakes.delete(shard) || closed === undefined) return undefined;
    this.unapplied.add(closed.node, closed.intake.close());
    this.drops.feedEnded(shard, closed.node);
    return closed;
  }

  /** Ends the intake of a shard: its active must not count what this copy reported, and asks the copy for its position again. */
  private readonly endIntake = (shard: number): void => {
    const { epoch, node } = this.closeIntake(shard) ?? {};
    if (epoch !== undefined && node !== undefined) this.sendEpoch('failed', node, shard, epoch);
  };

  /** The shards that the map no longer gives to this node, which still has vbuckets of them. */
  private readonly leftovers = (): number[] =>
    this.drops.leftovers(this.specs, this.options.self.node, this.vbsOf);

  private persisted(vb: number): void {
    const shard = vb % this.specs.length;
    if (this.actives.get(shard)?.isUnwritten) this.checks.due();
    const fed = this.intakes.get(shard);
    if (fed !== undefined) this.reports.add(fed.node, { shard, epoch: fed.epoch, vb, isAwaited: true }, 0);
  }

  private readonly servedUntilMs = (vb: number): number =>
    this.actives.get(vb % this.specs.length)?.servedUntilMs() ?? Infinity;

  private readonly epochOf = (shard: number): number =>
    Math.max(this.options.bucket.columns.epoch[shard] as number, this.epochs.get(shard) ?? 0);

  private readonly vbsOf = (shard: number): number[] =>
    vbsOfShard(this.options.bucket.columns.count, this.specs.length, shard);
}
