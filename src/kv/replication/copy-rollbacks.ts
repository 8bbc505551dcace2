// Removes the changes that a copy has and its active does not: by key where they are few; otherwise it empties the vbucket, which the active then fills
// again. The copy has left the in-sync set before, and the active feeds it again afterwards.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Bucket } from '../bucket/bucket.ts';
import type { RowsAbove } from '../bucket/rollback/rows-above.ts';
import type { ReplacingVersions } from '../bucket/rollback/vbucket-rollbacks.ts';
import { branchOf, decodeLog, historyOf, isContinued } from './branch.ts';
import type { ActiveHistory, Empty, PeerMessage, RollBack, ShardRef, WantedVersions } from './frames.ts';
import type { PeerConnections } from './peers.ts';
import { sendVersions } from './sent-versions.ts';
import type { ShardDrops } from './shard-drops.ts';
import { VersionRequests } from './version-requests.ts';

/** A rollback by key that needs more than this is not made: the copy is emptied, and the active feeds it from the first seqno. */
export interface RollbackLimits {
  /** Rows that are rolled back, as a part of all rows of the vbucket. */
  readonly share: number;
  readonly rows: number;
  /** The size of the versions that the active sends; they are in memory until all have arrived. */
  readonly bytes: number;
}

const defaultLimits: RollbackLimits = { share: 0.1, rows: 20_000, bytes: 32 * 1024 * 1024 };

/** After this many attempts that failed in a row, the vbuckets of a shard begin from nothing. */
const attemptsMax = 2;

export interface CopyRollbacksOptions {
  uuid: string;
  bucket: Bucket;
  peers: Pick<PeerConnections, 'send'>;
  drops: ShardDrops;
  /** The highest epoch of the shard that this node knows. */
  epochOf: (shard: number) => number;
  /** The shards that this node serves. */
  actives: ReadonlyMap<number, { readonly epoch: number }>;
  vbsOf: (shard: number) => readonly number[];
  /** Stops the intake of the shard: its copy takes no more changes from the active. */
  endIntake: (shard: number) => void;
  rollbackLimits?: RollbackLimits | undefined;
  clock: Clock;
  log: Log;
}

/** A shard, and the node of the active that asked for the rollback. */
interface Source extends ShardRef {
  readonly node: string;
}

export class CopyRollbacks {
  private readonly options: CopyRollbacksOptions;
  private readonly limits: RollbackLimits;
  private readonly requests: VersionRequests;
  /** By shard: attempts that failed since the last one that succeeded. */
  private readonly failures = new Map<number, number>();
  /** The end of the rollback that was requested last: those of a bucket run one after another, so that the versions of only one vbucket are in memory. */
  private last: Promise<unknown> = Promise.resolve();
  private isClosed = false;

  constructor(options: CopyRollbacksOptions) {
    this.options = options;
    this.limits = options.rollbackLimits ?? defaultLimits;
    this.requests = new VersionRequests({ ...options, limits: this.limits });
  }

  /** Handles the messages of rollbacks; messages of other kinds are ignored. */
  received(node: string, message: PeerMessage, body: Buffer): void {
    if (message.kind === 'empty') this.empty(node, message);
    else if (message.kind === 'rollBack') this.rollBack(node, message);
    else if (message.kind === 'wanted') this.sendVersions(node, message, body);
    else if (message.kind === 'versions') this.requests.received(node, message, body);
  }

  disconnected(node: string): void {
    this.requests.disconnected(node);
  }

  /** A rollback that runs changes nothing more. */
  close(): void {
    this.isClosed = true;
    this.requests.close();
  }

  private sendVersions(node: string, message: WantedVersions, body: Buffer): void {
    const { bucket, log, peers } = this.options;
    const { epoch, shard, vb } = message;
    const isActive = (): boolean => this.options.actives.get(shard)?.epoch === epoch;
    if (isActive() && this.options.vbsOf(shard).includes(vb))
      sendVersions(node, message, body, { bucket, isActive, log, peers });
  }

  /** Only nodes of an earlier version send this message. */
  private empty(node: string, { epoch, shard, vbs }: Empty): void {
    if (!this.isExpected(shard, epoch)) return;
    const emptied = this.options.vbsOf(shard).filter((vb) => vbs.includes(vb));
    this.noteEmptied(node, shard, emptied);
    this.options.endIntake(shard);
    this.options.drops.begin(shard, emptied);
  }

  private rollBack(node: string, message: RollBack): void {
    const { bucket, epoch, shard } = message;
    const { drops, endIntake, vbsOf } = this.options;
    if (!this.isExpected(shard, epoch) || drops.isDropping(shard)) return;
    const vbs = vbsOf(shard);
    const rows = message.rows.filter(({ vb }) => vbs.includes(vb));
    endIntake(shard);
    for (const { vb } of rows) this.options.bucket.columns.isOutOfSync[vb] = 1;
    const done = this.last.then(() => this.run({ node, bucket, epoch, shard }, rows));
    this.last = done.catch(() => {});
    drops.begin(
      shard,
      rows.map(({ vb }) => vb),
      () => done,
    );
  }

  private isExpected(shard: number, epoch: number): boolean {
    return !this.isClosed && epoch >= this.options.epochOf(shard) && !this.options.actives.has(shard);
  }

  private async run(source: Source, histories: readonly ActiveHistory[]): Promise<void> {
    const { bucket } = this.options;
    const { node, shard } = source;
    const emptied: number[] = [];
    const written = await bucket.writeStates(histories.map(({ vb }) => vb));
    for (const history of histories) {
      if (!this.isExpected(shard, source.epoch)) return;
      const isRolledBack = written.includes(history.vb) && (await this.rollBackByKey(source, history));
      if (!isRolledBack) emptied.push(history.vb);
    }
    if (emptied.length > 0) this.noteEmptied(node, shard, emptied);
    // If the active is gone, the next active says what the copy must remove.
    if (emptied.length > 0 && this.isExpected(shard, source.epoch)) await bucket.drop(emptied);
    this.failures.delete(shard);
  }

  /** False: the vbucket must begin from nothing. @throws Error when the active does not answer; the copy is unchanged then. */
  private async rollBackByKey(source: Source, history: ActiveHistory): Promise<boolean> {
    const { log, uuid } = this.options;
    const { node, shard } = source;
    const { vb } = history;
    const above = await this.rowsAbove(history);
    if (above === 'none') return true;
    if (above === null || (this.failures.get(shard) ?? 0) >= attemptsMax) return false;
    const versions = await this.versionsFor(source, history, above);
    if (versions === null || !this.isExpected(shard, source.epoch)) return false;
    if (!(await this.change(above, versions))) return false;
    const documents = versions.documents;
    log.info('replication.copy_rolled_back', {
      bucket: uuid,
      shard,
      node,
      vbucket: vb,
      seqno: above.seqno,
      removed: above.rows.length,
      documents,
    });
    return true;
  }

  /** The rows to roll back. `none`: the copy has nothing that the active lacks. Null: the vbucket must begin from nothing. */
  private async rowsAbove({ failover, high, purge, vb }: ActiveHistory): Promise<RowsAbove | 'none' | null> {
    const { limits } = this;
    const { bucket } = this.options;
    const { highSeqno, items, snapEnd, snapStart, tombstones } = bucket.columns;
    const active = { log: decodeLog(failover), high };
    const copy = {
      ...historyOf(bucket, vb),
      snapStart: snapStart[vb] as number,
      snapEnd: snapEnd[vb] as number,
    };
    // A copy that has a part of the active's history may still lack deletions that the active no longer has.
    const lacksDeletions = copy.high > 0 && purge > copy.high;
    if (isContinued(copy, active) && !lacksDeletions) return 'none';
    const seqno = branchOf(copy, active);
    if (seqno === 0 || purge > seqno || (highSeqno[vb] as number) < seqno) return null;
    const rows = (items[vb] as number) + (tombstones[vb] as number);
    const rowsMax = Math.min(limits.rows, Math.floor(rows * limits.share));
    return await bucket.rollbacks.rowsAbove(vb, seqno, rowsMax);
  }

  /** The active's versions of the keys of these rows. Null: the vbucket must begin from nothing. */
  private async versionsFor(
    source: Source,
    { failover, vb }: ActiveHistory,
    { rows, seqno }: RowsAbove,
  ): Promise<(ReplacingVersions & { documents: number }) | null> {
    const keys = rows.map(({ key }) => key);
    try {
      const found = await this.requests.versions(source, { vb, upTo: seqno, keys });
      return found && { ...found, failover: Buffer.from(failover, 'base64') };
    } catch (error) {
      this.failures.set(source.shard, (this.failures.get(source.shard) ?? 0) + 1);
      throw error;
    }
  }

  private async change(above: RowsAbove, versions: ReplacingVersions): Promise<boolean> {
    const { bucket, log, uuid } = this.options;
    try {
      return await bucket.rollbacks.rollBack(above, versions);
    } catch (error) {
      const reason = (error as Error).message;
      log.warn('replication.rollback_failed', { bucket: uuid, vbucket: above.vb, reason });
      return false;
    }
  }

  private noteEmptied(node: string, shard: number, vbs: readonly number[]): void {
    const { log, uuid } = this.options;
    log.info('replication.copy_emptied', { bucket: uuid, shard, node, vbuckets: vbs.length });
  }
}
