// User changes that a node did not confirm. A stalled node may still apply an unanswered request later, and overwrite what was sent in
// between. So the cloud sends the stored user to the node twice; by the second time, the late request should have ended. A user that the
// node refuses is sent less and less often, and then given up: the node keeps what it has, until the next change of that user.
// Each change is recorded before the node gets it, so that the node gets the stored user again if the store's write fails or the process ends.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import { servingPhases } from '../clusters/phase.ts';
import { inParallel } from '../in-parallel.ts';
import { isRefusal, UnresponsiveNodeError } from '../node-client/refusals.ts';
import type { ClusterRow, Store, UnconfirmedUserChangeRow } from '../store/tables.ts';

const checkEveryMs = 2_000;
/** The longest pause between two attempts; each refusal doubles the pause. */
const pauseMaxMs = 300_000;
/** Over about four minutes: a scope or a bucket that was just created may be unknown to some node for a moment. */
const refusalsMax = 8;
/** The delay between the first and the second confirmation. */
const secondConfirmationMs = 30_000;
/** The most users of a cluster that one check confirms: the next check also finds those that became due meanwhile. */
const usersPerCheck = 100;
/** How many clusters a check works on at a time. More than in other work, since a node that does not answer keeps its place for long. */
const clustersAtOnce = 32;

export interface UnconfirmedUserChangesOptions {
  store: Store;
  home: string;
  clock: Clock;
  log: Log;
}

/** The record of a change that has begun. */
export interface BegunChange {
  readonly clusterId: string;
  readonly username: string;
  /** The time that the record has; null: there was a record of an earlier change. */
  readonly begunMs: number | null;
  /** This process is the one that confirms changes of the cluster, so it never confirms the user during this change. */
  readonly isAtHome: boolean;
}

/** The phase of the cluster; null: the cluster was deleted. */
type DueChange = UnconfirmedUserChangeRow & { readonly phase: string | null };

/** Makes the node's user equal to the store's; throws while the node does not answer. */
export type Confirm = (cluster: ClusterRow, username: string) => Promise<void>;

export class UnconfirmedUserChanges {
  private readonly options: UnconfirmedUserChangesOptions;
  private readonly task: PeriodicTask;
  /** Refusals of the node by cluster and user; empty in a new process. `notBeforeMs`: monotonic time of the next attempt. */
  private readonly refused = new Map<string, { notBeforeMs: number; pauseMs: number; refusals: number }>();
  private isStopped = false;

  constructor(options: UnconfirmedUserChangesOptions) {
    this.options = options;
    const { clock, log } = options;
    const onError = ({ message }: Error) => log.error('users.unreadable', { reason: message });
    this.task = new PeriodicTask({ everyMs: checkEveryMs, clock, onError });
  }

  async note(clusterId: string, username: string, store: Store = this.options.store): Promise<void> {
    this.refused.delete(keyOf(clusterId, username));
    await store
      .insertInto('user_doubts')
      .values({ cluster_id: clusterId, username, told_at: null })
      .onConflict((conflict) => conflict.columns(['cluster_id', 'username']).doUpdateSet({ told_at: null }))
      .execute();
  }

  /** Whether this process confirms the changes of the cluster. */
  isHomeOf({ home }: ClusterRow): boolean {
    return home === this.options.home;
  }

  /** Records a change before the node gets it: unless the record is removed, the node gets the stored user after half a minute. */
  async begin(cluster: ClusterRow, username: string): Promise<BegunChange> {
    const { id } = cluster;
    const { store, clock } = this.options;
    const nowMs = clock.wallMs();
    const { numInsertedOrUpdatedRows } = await store
      .insertInto('user_doubts')
      .values({ cluster_id: id, username, told_at: nowMs })
      .onConflict((conflict) => conflict.columns(['cluster_id', 'username']).doNothing())
      .executeTakeFirst();
    const isNew = numInsertedOrUpdatedRows === 1n;
    if (!isNew) await this.note(id, username);
    return { clusterId: id, username, begunMs: isNew ? nowMs : null, isAtHome: this.isHomeOf(cluster) };
  }

  /**
   * Called in the transaction that stores the change. Changes of one user by several servers may reach the node in another order than the
   * store, so a change by another server than the home is noted again: the home then confirms the user after the last of these changes.
   */
  async stored(change: BegunChange, transaction: Store): Promise<void> {
    if (change.isAtHome) await this.forget(change, transaction);
    else await this.note(change.clusterId, change.username, transaction);
  }

  /** Removes the record, unless the user was noted since. Called alone for a change that the node refused. */
  async forget(
    { clusterId, username, begunMs }: BegunChange,
    store: Store = this.options.store,
  ): Promise<void> {
    if (begunMs !== null) await this.remove({ cluster_id: clusterId, username, told_at: begunMs }, store);
  }

  start(confirm: Confirm): void {
    this.isStopped = false;
    this.task.start(() => this.confirmDue(confirm));
  }

  stop(): Promise<void> {
    this.isStopped = true;
    return this.task.stop();
  }

  private async confirmDue(confirm: Confirm): Promise<void> {
    const due = await this.due();
    const isOrphan = ({ phase }: DueChange): boolean => phase === null;
    for (const change of due.filter(isOrphan)) {
      this.refused.delete(keyOf(change.cluster_id, change.username));
      await this.remove(change);
    }
    const nowMs = this.options.clock.monotonicMs();
    const ready = due.filter((change) => {
      const last = this.refused.get(keyOf(change.cluster_id, change.username));
      return !isOrphan(change) && (last === undefined || last.notBeforeMs <= nowMs);
    });
    const byCluster = Map.groupBy(ready, ({ cluster_id }) => cluster_id);
    const confirmSome = (changes: readonly DueChange[]): Promise<void> =>
      this.confirmInOrder(changes.slice(0, usersPerCheck), confirm);
    await inParallel([...byCluster.values()], confirmSome, clustersAtOnce);
  }

  /** Changes that are due, also of clusters that were deleted since, which have no phase. */
  private due(): Promise<DueChange[]> {
    const { store, home, clock } = this.options;
    const nowMs = clock.wallMs();
    return (
      store
        .selectFrom('user_doubts')
        .leftJoin('clusters', 'clusters.id', 'user_doubts.cluster_id')
        .selectAll('user_doubts')
        .select('clusters.phase')
        .where((e) =>
          e.or([
            e('clusters.id', 'is', null),
            e.and([e('clusters.home', '=', home), e('clusters.phase', 'in', servingPhases)]),
          ]),
        )
        // A time in the future was written before the clock was set back.
        .where((e) =>
          e.or([
            e('told_at', 'is', null),
            e('told_at', '<=', nowMs - secondConfirmationMs),
            e('told_at', '>', nowMs),
          ]),
        )
        .execute()
    );
  }

  /** The changes of one cluster, one after the other. While its nodes do not answer, the rest waits for the next check. */
  private async confirmInOrder(
    changes: readonly UnconfirmedUserChangeRow[],
    confirm: Confirm,
  ): Promise<void> {
    for (const change of changes)
      if (this.isStopped || (await this.confirmOne(change, confirm)) === 'unanswered') return;
  }

  private async confirmOne(
    change: UnconfirmedUserChangeRow,
    confirm: Confirm,
  ): Promise<'answered' | 'unanswered'> {
    const { store, clock, log } = this.options;
    const { cluster_id, username, told_at } = change;
    const cluster = await store
      .selectFrom('clusters')
      .selectAll()
      .where('id', '=', cluster_id)
      .executeTakeFirst();
    if (cluster === undefined) return 'answered';
    try {
      await confirm(cluster, username);
    } catch (error) {
      log.info('user.change_unconfirmed', { cluster: cluster_id, reason: (error as Error).message });
      if (error instanceof UnresponsiveNodeError) return 'unanswered';
      if (this.retriesAfter(change, error as Error)) return 'answered';
      log.error('user.change_given_up', { cluster: cluster_id, username, reason: (error as Error).message });
      await this.remove(change);
      return 'answered';
    }
    this.refused.delete(keyOf(cluster_id, username));
    const key = { cluster_id, username };
    if (told_at === null)
      await store
        .updateTable('user_doubts')
        .set({ told_at: clock.wallMs() })
        .where((e) => e.and(key))
        .execute();
    else await this.remove(change);
    return 'answered';
  }

  /** Counts the error if it is a refusal. False: the node has refused the user too often. */
  private retriesAfter({ cluster_id, username }: UnconfirmedUserChangeRow, error: Error): boolean {
    const key = keyOf(cluster_id, username);
    if (!isRefusal(error)) return true;
    const before = this.refused.get(key) ?? { pauseMs: checkEveryMs / 2, refusals: 0 };
    const refusals = before.refusals + 1;
    const pauseMs = Math.min(2 * before.pauseMs, pauseMaxMs);
    this.refused.set(key, { notBeforeMs: this.options.clock.monotonicMs() + pauseMs, pauseMs, refusals });
    if (refusals < refusalsMax) return true;
    this.refused.delete(key);
    return false;
  }

  /** Removes a change that was confirmed or is given up, unless it was noted again since. */
  private async remove(
    { cluster_id, username, told_at }: UnconfirmedUserChangeRow,
    store = this.options.store,
  ): Promise<void> {
    await store
      .deleteFrom('user_doubts')
      .where((e) => e.and({ cluster_id, username }))
      .where('told_at', told_at === null ? 'is' : '=', told_at)
      .execute();
  }
}

const keyOf = (clusterId: string, username: string): string => `${clusterId} ${username}`;
