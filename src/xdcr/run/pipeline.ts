// The path of changes while the source and the target are connected: change streams of this node's vbuckets → filter → collection →
// target. Versions and bytes without an acknowledgement are bounded: at the bound the streams are paused.
import { BucketClient } from '#client/bucket-client.ts';
import type { Change } from '#client/change.ts';
import type { FailoverEntry, StreamPosition } from '#client/change-connection.ts';
import { ChangeFollower, type FollowerHandler } from '#client/change-follower.ts';
import { vbucketCount } from '#client/document-key.ts';
import type { WireAccount, WireAddress } from '#client/wire-address.ts';
import type { Clock } from '#ports/clock.ts';
import { DocumentFilter } from '../filter/document-filter.ts';
import type { CollectionMapping } from '../mapping/mapping.contract.ts';
import { CollectionRoutes, noCollection, type Route, sourceIdOf } from '../mapping/routes.ts';
import { countersOf, type ReplicationCounts } from '../replication-counts.ts';
import { ChangedDocument, routesTaken, sentValue } from '../source/filter.ts';
import { fromStart, VbProgress } from '../source/vb-progress.ts';
import { type OutgoingVersion, outgoingBytes, outgoingOf, setTargetCollection } from '../target/outgoing.ts';
import type { TargetLink } from '../target/target-link.ts';
import type { WantedReplication } from '../xdcr.contract.ts';
import { Backfill } from './backfill.ts';
import type { SkippedRoutes } from './checkpoints.ts';
import { SampledLatency } from './latency.ts';
import type { Competitor, PriorityShares } from './priority-shares.ts';
import { Unacknowledged } from './unacknowledged.ts';

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
  readonly resumed: SkippedRoutes;
  readonly skippedChanged: () => void;
  /** Called when the target has what a backfill sent; resolves once that position of the target is recorded. */
  readonly backfilled: () => Promise<void>;
  readonly counts: ReplicationCounts;
  readonly clock: Clock;
  readonly shares: PriorityShares;
  readonly failed: (reason: Error) => void;
}

/** The most versions without an acknowledgement. */
const versionsMax = 20_000;
/** Versions taken from the source for each version that may be in flight: enough to keep the connections busy. More would only wait, and cost the garbage collector time. */
const versionsPerInFlight = 2;
/** The source reads its vbuckets once for all collections of a backfill. */
const backfillCollectionsMax = 100;
const receivedCounters = countersOf('received_from_dcp');
/** The nodes of the target may apply the drop of a collection at different times. */
const lostCollectionMs = 100;
const lostCollectionAttemptsMax = 100;

export class OutboundPipeline implements FollowerHandler {
  readonly progress: readonly VbProgress[];
  private readonly options: OutboundPipelineOptions;
  private readonly routes: CollectionRoutes;
  private readonly filter: DocumentFilter | null;
  private readonly followers: ChangeFollower[] = [];
  private readonly latency: SampledLatency;
  private readonly competitor: Competitor;
  private client: BucketClient | null = null;
  private link: TargetLink | null = null;
  private backfill: Backfill | null = null;
  private readonly unacknowledged = new Unacknowledged(versionsMax, (isPaused) => this.setPaused(isPaused));
  private isStopped = false;
  /** Versions that wait until the manifests are read again. */
  private unrouted: OutgoingVersion[] = [];
  private rereading: Promise<void> | null = null;
  /** The manifests of both sides that were read last, as text. */
  private manifests = '';
  /** The highest id of a collection that the source had then. Nothing of later ones has been replicated. */
  private newestSource = Number.POSITIVE_INFINITY;

  constructor(options: OutboundPipelineOptions) {
    this.options = options;
    this.routes = new CollectionRoutes(options.wanted.mapping);
    this.latency = new SampledLatency(options.clock);
    const { filterExpression, priority, desiredLatency } = options.wanted.settings;
    const isLate = () => this.unacknowledged.versions > 0 && this.latency.exceeds(desiredLatency);
    this.competitor = { priority, isLate };
    this.filter = filterExpression === '' ? null : new DocumentFilter(filterExpression);
    this.progress = Array.from({ length: vbucketCount }, () => new VbProgress());
    for (const vb of options.vbuckets)
      (this.progress[vb] as VbProgress).reset(options.startOf(vb) ?? fromStart);
  }

  /** Routes that the outdated mappings did not have are replicated from the start. */
  async start(link: TargetLink, outdatedMappings: readonly CollectionMapping[]): Promise<void> {
    const { wanted, source, vbuckets } = this.options;
    this.link = link;
    this.unacknowledged.versionsMax = Math.min(versionsMax, versionsPerInFlight * link.inFlightMax);
    this.options.shares.add(this.competitor);
    this.client = await BucketClient.open({ ...source, bucket: wanted.source.bucket });
    await this.readManifests();
    for (const mapping of outdatedMappings)
      for (const id of this.routes.newSince(mapping)) this.addSkipped(id);
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
    this.startBackfill();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.options.shares.remove(this.competitor);
    this.client?.close();
    await Promise.all(this.allFollowers().map((follower) => follower.stop()));
  }

  /** Takes no more changes. */
  close(): void {
    this.isStopped = true;
    this.setPaused(true);
  }

  /** Reads the collections of both sides again, and begins to replicate those that the target lacked or has created again. */
  async followManifests(): Promise<void> {
    if (this.isStopped) return;
    await this.readManifests();
    this.startBackfill();
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
    this.options.counts.add('seqno_adv_received_from_dcp');
    this.progress[vb]?.pass(seqno);
  }

  event({ vb, seqno }: { vb: number; seqno: number }): void {
    this.options.counts.add('system_events_received_from_dcp');
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
    this.replicate(change, this.routes.routesOf(change.collectionId), () => progress.done(pending));
  }

  /** The target lost the collection of a version that was sent to it. */
  collectionLost(outgoing: OutgoingVersion): void {
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

  private replicate(change: Change, routes: readonly Route[] | undefined, done: () => void): void {
    const { counts, wanted } = this.options;
    counts.add('docs_received_from_dcp');
    counts.add(receivedCounters[change.kind]);
    const document = new ChangedDocument(change);
    const taken = routes === undefined ? [null] : routesTaken(document, routes, counts);
    const sent = taken.length === 0 ? null : sentValue(document, wanted.settings, counts, this.filter);
    if (sent === null) {
      done();
      return;
    }
    const isStripped =
      wanted.settings.filterBypassExpiry && change.kind === 'mutation' && change.expiry !== 0;
    if (isStripped) counts.add('expiry_stripped');
    const copies = taken.length - 1;
    if (copies > 0) counts.add('docs_cloned', copies);
    if (copies > 0 && change.kind !== 'mutation') counts.add('deletion_cloned', copies);
    const doneByOne = copies === 0 ? done : afterCalls(taken.length, done);
    const expiry = isStripped ? 0 : change.expiry;
    const beganMs = this.latency.begin();
    for (const route of taken) {
      const outgoing: OutgoingVersion = outgoingOf(change, sent, expiry, route?.id ?? null, () => {
        this.unacknowledged.remove(outgoingBytes(outgoing));
        if (beganMs !== null) this.latency.end(beganMs);
        doneByOne();
      });
      this.begin(outgoing, route);
    }
  }

  /** `route`: null while the collection of the source is not known. */
  private begin(outgoing: OutgoingVersion, route: Route | null): void {
    this.unacknowledged.add(outgoingBytes(outgoing));
    if (route === null) {
      this.unrouted.push(outgoing);
      this.rereadManifests();
    } else this.send(outgoing, route);
  }

  private send(outgoing: OutgoingVersion, { id, targetId }: Route): void {
    if (targetId === noCollection) this.skip(outgoing, id);
    else {
      setTargetCollection(outgoing, targetId);
      this.link?.send(outgoing);
    }
  }

  private skip(outgoing: OutgoingVersion, routeId: string): void {
    this.addSkipped(routeId);
    outgoing.done();
  }

  private addSkipped(routeId: string): void {
    const { resumed, skippedChanged } = this.options;
    if (this.backfill?.routeIds.has(routeId) === true) this.backfill.incomplete.add(routeId);
    if (resumed.skipped.has(routeId)) return;
    resumed.skipped.add(routeId);
    skippedChanged();
  }

  private discardSkipped(routeId: string): void {
    this.options.resumed.skipped.delete(routeId);
    this.options.skippedChanged();
  }

  /** Reads the manifests again and routes the versions that wait for them. */
  private rereadManifests(): void {
    this.rereading ??= this.readManifests()
      .then(
        () => {
          for (const outgoing of this.unrouted.splice(0)) this.reroute(outgoing);
        },
        (reason: Error) => this.options.failed(reason),
      )
      .finally(() => {
        this.rereading = null;
        if (this.unrouted.length > 0 && !this.isStopped) this.rereadManifests();
      });
  }

  private reroute(outgoing: OutgoingVersion): void {
    const routes = this.routes.routesOf(outgoing.collectionId);
    const { routeId } = outgoing;
    const route = routeId === null ? routes?.[0] : routes?.find(({ id }) => id === routeId);
    // The source has dropped the collection since, or the mapping excludes it.
    if (route === undefined) outgoing.done();
    else {
      outgoing.routeId = route.id;
      this.send(outgoing, route);
    }
  }

  private async readManifests(): Promise<void> {
    if (this.client === null || this.link === null) return;
    const [source, target] = await Promise.all([this.client.manifest(), this.link.manifest()]);
    const manifests = JSON.stringify([source, target]);
    if (manifests === this.manifests) return;
    this.manifests = manifests;
    this.routes.setSource(source);
    this.routes.setTarget(target);
    this.skipCreatedCollections();
  }

  /** What was replicated to a collection that the target has dropped is missing in the one that it has created again under that name. */
  private skipCreatedCollections(): void {
    const { resumed } = this.options;
    const { newest } = this.routes;
    const before = { source: this.newestSource, target: resumed.newestTargetCollection ?? newest.target };
    for (const id of this.routes.toCreatedTargets(before)) this.addSkipped(id);
    this.newestSource = newest.source;
    resumed.newestTargetCollection = Math.max(before.target, newest.target);
  }

  private allFollowers(): ChangeFollower[] {
    return this.backfill === null ? this.followers : [...this.followers, this.backfill.follower];
  }

  private setPaused(isPaused: boolean): void {
    if (this.isStopped && !isPaused) return;
    for (const follower of this.allFollowers())
      if (isPaused) follower.pause();
      else follower.resume();
  }

  /** Starts with the collections that have skipped routes to existing collections, all at once. */
  private startBackfill(): void {
    if (this.backfill !== null || this.isStopped) return;
    const ready: string[] = [];
    for (const id of this.options.resumed.skipped) {
      const route = this.routes.find(id);
      if (route === undefined) this.discardSkipped(id);
      else if (route.targetId !== noCollection) ready.push(id);
    }
    if (ready.length === 0) return;
    const collections = [...new Set(ready.map(sourceIdOf))].slice(0, backfillCollectionsMax);
    const routeIds = new Set(ready.filter((id) => collections.includes(sourceIdOf(id))));
    const backfill = new Backfill({
      routeIds,
      vbuckets: this.options.vbuckets,
      follow: (handler) => this.follow('backfill', this.options.vbuckets, handler, collections),
      replicate: (change, done) => {
        const routes = this.routes.routesOf(change.collectionId) ?? [];
        this.replicate(
          change,
          routes.filter(({ id }) => routeIds.has(id)),
          done,
        );
      },
      failed: (reason) => this.lost(reason),
      finished: () => void this.backfillFinished(backfill).catch(this.options.failed),
    });
    this.backfill = backfill;
    // At the bound the other streams are paused already.
    if (this.unacknowledged.isPaused) backfill.follower.pause();
    backfill.follower.start();
  }

  private async backfillFinished(backfill: Backfill): Promise<void> {
    // Before the routes are no longer skipped: a target that loses these documents later must be seen to have had them.
    await this.options.backfilled();
    if (this.isStopped || this.backfill !== backfill) return;
    this.backfill = null;
    for (const id of backfill.routeIds) if (!backfill.incomplete.has(id)) this.discardSkipped(id);
    // What is incomplete starts again with the next request for the collections of the target.
    if (backfill.incomplete.size === 0) this.startBackfill();
  }

  private follow(
    part: string,
    vbuckets: readonly number[],
    handler: FollowerHandler,
    collections?: readonly number[],
  ): ChangeFollower {
    const { wanted, source, clock } = this.options;
    return new ChangeFollower({
      ...source,
      vbuckets,
      handler,
      clock,
      withXattrs: true,
      withDeletedXattrs: true,
      keepsCompressed: true,
      bucket: wanted.source.bucket,
      name: `xdcr:${wanted.id}:${part}`,
      ...(collections !== undefined && { collections, until: 'latest' as const }),
    });
  }
}

/** Calls `done` with the last of this number of calls. */
function afterCalls(count: number, done: () => void): () => void {
  let left = count;
  return () => {
    left--;
    if (left === 0) done();
  };
}
