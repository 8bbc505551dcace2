// The path of changes while the source and the target are connected: change streams of this node's vbuckets → filter → collection →
// target. Versions and bytes without an acknowledgement are bounded: at the bound the streams are paused.
import { BucketClient } from '#client/bucket-client.ts';
import type { Change } from '#client/change.ts';
import type { FailoverEntry, StreamPosition } from '#client/change-connection.ts';
import { ChangeFollower, type FollowerHandler } from '#client/change-follower.ts';
import { vbucketCount } from '#client/document-key.ts';
import type { WireAccount, WireAddress } from '#client/wire-connection.adapter.ts';
import type { Clock } from '#ports/clock.ts';
import { kindNames, type ReplicationCounts } from '../figures.ts';
import { DocumentFilter } from '../filter/document-filter.ts';
import { CollectionRoutes, noCollection } from '../source/collections.ts';
import { sentValue } from '../source/filter.ts';
import { fromStart, VbProgress } from '../source/vb-progress.ts';
import { type Outgoing, outgoingBytes } from '../target/outgoing.ts';
import type { TargetLink } from '../target/target-link.ts';
import type { WantedReplication } from '../xdcr.contract.ts';

export interface SourceAccess {
  readonly address: WireAddress;
  readonly account: WireAccount;
}

export interface OutboundPipelineOptions {
  readonly wanted: WantedReplication;
  readonly source: SourceAccess;
  readonly vbuckets: readonly number[];
  /** From where each vbucket is replicated; undefined: from the start. */
  readonly startOf: (vb: number) => StreamPosition | undefined;
  /** Ids of source collections with documents that were left out, because the target lacks the collection. */
  readonly skipped: Set<number>;
  readonly skippedChanged: () => void;
  readonly figures: ReplicationCounts;
  readonly clock: Clock;
  readonly failed: (reason: Error) => void;
}

/** Bytes and versions without an acknowledgement: twice what all connections may have in flight keeps them busy. */
const unacknowledgedMax = { bytes: 32 << 20, versions: 20_000 } as const;
/** The nodes of the target may learn of a dropped collection at different times. */
const lostCollectionMs = 100;
const lostCollectionAttemptsMax = 100;

/** A collection of the source that is replicated from the start. */
interface Backfill {
  readonly follower: ChangeFollower;
  readonly id: number;
  /** The target lost the collection again. */
  isIncomplete: boolean;
}

export class OutboundPipeline implements FollowerHandler {
  readonly progress: readonly VbProgress[];
  private readonly options: OutboundPipelineOptions;
  private readonly routes = new CollectionRoutes();
  private readonly filter: DocumentFilter | null;
  private readonly followers: ChangeFollower[] = [];
  private client: BucketClient | null = null;
  private link: TargetLink | null = null;
  private backfill: Backfill | null = null;
  private unacknowledged = 0;
  private unacknowledgedBytes = 0;
  private isPaused = false;
  private isStopped = false;
  /** Versions that wait until the manifests are read again. */
  private unrouted: Outgoing[] = [];
  private rereading: Promise<void> | null = null;

  constructor(options: OutboundPipelineOptions) {
    this.options = options;
    const { filterExpression } = options.wanted.settings;
    this.filter = filterExpression === '' ? null : new DocumentFilter(filterExpression);
    this.progress = Array.from({ length: vbucketCount }, () => new VbProgress());
    for (const vb of options.vbuckets)
      (this.progress[vb] as VbProgress).reset(options.startOf(vb) ?? fromStart);
  }

  async start(link: TargetLink): Promise<void> {
    const { wanted, source, vbuckets } = this.options;
    this.link = link;
    this.client = await BucketClient.open({ ...source, bucket: wanted.source.bucket });
    await this.readManifests();
    const count = Math.min(wanted.settings.sourceNozzlePerNode, vbuckets.length);
    for (let index = 0; index < count && !this.isStopped; index++) {
      const follower = this.follow(
        `${index}`,
        vbuckets.filter((vb) => vb % count === index),
        this,
      );
      this.followers.push(follower);
      follower.start();
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.client?.close();
    await Promise.all(this.allFollowers().map((follower) => follower.stop()));
  }

  /** Takes no more changes. */
  close(): void {
    this.isStopped = true;
    this.setPaused(true);
  }

  /** Reads the collections of the target again, and begins to replicate those that it lacked. */
  async retrySkipped(): Promise<void> {
    if (this.options.skipped.size === 0 || this.backfill !== null || this.isStopped) return;
    await this.readManifests();
    for (const id of this.options.skipped) {
      const target = this.routes.targetOf(id);
      if (target === noCollection) continue;
      if (target === undefined) this.discardSkipped(id);
      else {
        this.startBackfill(id);
        return;
      }
    }
  }

  positionOf(vb: number): StreamPosition {
    const progress = this.progress[vb] as VbProgress;
    // A new stream sends again what was not acknowledged.
    progress.reset(progress.position());
    return progress.position();
  }

  opened(vb: number, log: readonly FailoverEntry[]): void {
    (this.progress[vb] as VbProgress).uuid = log[0]?.uuid ?? 0n;
  }

  snapshot(vb: number, start: number, end: number): void {
    this.progress[vb]?.beginSnapshot(start, end);
  }

  advanced(vb: number, seqno: number): void {
    this.options.figures.add('seqno_adv_received_from_dcp');
    this.progress[vb]?.pass(seqno);
  }

  event({ vb, seqno }: { vb: number; seqno: number }): void {
    this.options.figures.add('system_events_received_from_dcp');
    this.progress[vb]?.pass(seqno);
  }

  ended(vb: number, reason: number): void {
    this.options.failed(new Error(`the change stream of vbucket ${vb} ended with reason ${reason}`));
  }

  /** The source lost the changes after this seqno. The target already has those before it. */
  async rollback(vb: number, seqno: number): Promise<void> {
    const logs = await this.client?.failoverLogs([vb]);
    const uuid = logs?.get(vb)?.find((entry) => entry.seqno <= seqno)?.uuid;
    const progress = this.progress[vb] as VbProgress;
    const isUsable = uuid !== undefined && seqno > 0 && seqno < progress.seqno;
    progress.reset(isUsable ? { uuid, seqno, snapshotStart: seqno, snapshotEnd: seqno } : fromStart);
  }

  lost(reason: Error): void {
    if (!this.isStopped) this.options.failed(new Error(`the source: ${reason.message}`, { cause: reason }));
  }

  drained(): void {}

  change(change: Change): void {
    const progress = this.progress[change.vb] as VbProgress;
    if (change.seqno <= progress.seqno) return;
    const pending = progress.add(change.seqno);
    this.replicate(change, () => progress.done(pending));
  }

  /** The target lost the collection of a version that was sent to it. */
  collectionLost(outgoing: Outgoing): void {
    if (++outgoing.attempts > lostCollectionAttemptsMax) {
      this.options.failed(new Error('the target lists a collection and refuses its documents'));
      return;
    }
    this.options.clock.after(lostCollectionMs, () => {
      if (this.isStopped) return;
      this.unrouted.push(outgoing);
      this.rereadManifests();
    });
  }

  private replicate(change: Change, done: () => void): void {
    const { figures, wanted } = this.options;
    figures.add('docs_received_from_dcp');
    figures.add(`${kindNames[change.kind]}_received_from_dcp`);
    const sent = sentValue(change, wanted.settings, figures, this.filter);
    if (sent === null) {
      done();
      return;
    }
    const isStripped =
      wanted.settings.filterBypassExpiry && change.kind === 'mutation' && change.expiry !== 0;
    if (isStripped) figures.add('expiry_stripped');
    const outgoing: Outgoing = {
      kind: change.kind,
      vb: change.vb,
      seqno: change.seqno,
      collectionId: change.collectionId,
      key: Buffer.from(change.keyBytes),
      ...sent,
      flags: change.flags,
      expiry: isStripped ? 0 : change.expiry,
      rev: change.rev,
      casHi: change.casHi,
      casLo: change.casLo,
      targetCollectionId: noCollection,
      attempts: 0,
      done: () => {
        this.count(outgoing, -1);
        done();
      },
    };
    this.count(outgoing, 1);
    this.route(outgoing);
  }

  private route(outgoing: Outgoing): void {
    const target = this.routes.targetOf(outgoing.collectionId);
    if (target === undefined) {
      this.unrouted.push(outgoing);
      this.rereadManifests();
    } else if (target === noCollection) this.skip(outgoing);
    else {
      outgoing.targetCollectionId = target;
      this.link?.send(outgoing);
    }
  }

  private skip(outgoing: Outgoing): void {
    const { skipped, skippedChanged } = this.options;
    const { backfill } = this;
    if (backfill?.id === outgoing.collectionId) backfill.isIncomplete = true;
    if (!skipped.has(outgoing.collectionId)) {
      skipped.add(outgoing.collectionId);
      skippedChanged();
    }
    outgoing.done();
  }

  private discardSkipped(id: number): void {
    this.options.skipped.delete(id);
    this.options.skippedChanged();
  }

  /** Reads the manifests again and routes the versions that wait for them. */
  private rereadManifests(): void {
    this.rereading ??= this.readManifests()
      .then(
        () => {
          for (const outgoing of this.unrouted.splice(0)) this.rerouted(outgoing);
        },
        (reason: Error) => this.options.failed(reason),
      )
      .finally(() => {
        this.rereading = null;
        if (this.unrouted.length > 0 && !this.isStopped) this.rereadManifests();
      });
  }

  private rerouted(outgoing: Outgoing): void {
    const target = this.routes.targetOf(outgoing.collectionId);
    // The source has dropped the collection since.
    if (target === undefined) outgoing.done();
    else this.route(outgoing);
  }

  private async readManifests(): Promise<void> {
    if (this.client === null || this.link === null) return;
    const [source, target] = await Promise.all([this.client.manifest(), this.link.manifest()]);
    this.routes.setSource(source);
    this.routes.setTarget(target);
  }

  private count(outgoing: Outgoing, sign: 1 | -1): void {
    this.unacknowledged += sign;
    this.unacknowledgedBytes += sign * outgoingBytes(outgoing);
    const isFull =
      this.unacknowledged > unacknowledgedMax.versions || this.unacknowledgedBytes > unacknowledgedMax.bytes;
    const isHalfFree =
      this.unacknowledged < unacknowledgedMax.versions / 2 &&
      this.unacknowledgedBytes < unacknowledgedMax.bytes / 2;
    if (isFull && !this.isPaused) this.setPaused(true);
    else if (isHalfFree && this.isPaused && !this.isStopped) this.setPaused(false);
  }

  private allFollowers(): ChangeFollower[] {
    return this.backfill === null ? this.followers : [...this.followers, this.backfill.follower];
  }

  private setPaused(isPaused: boolean): void {
    this.isPaused = isPaused;
    for (const follower of this.allFollowers())
      if (isPaused) follower.pause();
      else follower.resume();
  }

  /** Replicates the present documents of the collection; the main streams send the later changes. */
  private startBackfill(id: number): void {
    const openVbuckets = new Set(this.options.vbuckets);
    let unacknowledged = 0;
    const finish = () => {
      if (openVbuckets.size > 0 || unacknowledged > 0 || this.isStopped) return;
      if (this.backfill?.isIncomplete === false) this.discardSkipped(id);
      this.backfill = null;
      void follower.stop();
    };
    const follower = this.follow(
      'backfill',
      this.options.vbuckets,
      {
        opened: () => {},
        snapshot: () => {},
        advanced: () => {},
        event: () => {},
        drained: () => {},
        positionOf: () => fromStart,
        rollback: () => {},
        lost: (reason) => this.lost(reason),
        change: (change) => {
          unacknowledged++;
          this.replicate(change, () => {
            unacknowledged--;
            finish();
          });
        },
        ended: (vb) => {
          openVbuckets.delete(vb);
          finish();
        },
      },
      id,
    );
    this.backfill = { follower, id, isIncomplete: false };
    follower.start();
  }

  private follow(
    part: string,
    vbuckets: readonly number[],
    handler: FollowerHandler,
    collection?: number,
  ): ChangeFollower {
    const { wanted, source, clock } = this.options;
    return new ChangeFollower({
      ...source,
      ...{ vbuckets, handler, clock, withXattrs: true, withDeletedXattrs: true, keepsCompressed: true },
      bucket: wanted.source.bucket,
      name: `xdcr:${wanted.id}:${part}`,
      ...(collection !== undefined && { collections: [collection], until: 'latest' as const }),
    });
  }
}
