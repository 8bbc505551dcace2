// User changes that a node did not confirm. A stalled node may still apply an unanswered request later, and overwrite what was sent in
// between. So the cloud sends the stored user to the node twice; by the second time, the late request should have ended. A user that the
// node refuses is sent less and less often, and then given up: the node keeps what it has, until the next change of that user.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import { servingPhases } from '../clusters/phase.ts';
import { isRefusal } from '../node-client/refusals.ts';
import type { ClusterRow, Store, UnconfirmedUserChangeRow } from '../store/tables.ts';

const checkEveryMs = 2_000;
/** The longest pause between two attempts; each refusal doubles the pause. */
const pauseMaxMs = 300_000;
/** Over about four minutes: a scope or a bucket that was just created may be unknown to some node for a moment. */
const refusalsMax = 8;
/** The delay between the first and the second confirmation. */
const secondConfirmationMs = 30_000;

export interface UnconfirmedUserChangesOptions {
  store: Store;
  home: string;
  clock: Clock;
  log: Log;
}

/** Makes the node's user equal to the store's; throws while the node does not answer. */
export type Confirm = (cluster: ClusterRow, username: string) => Promise<void>;

export class UnconfirmedUserChanges {
  private readonly options: UnconfirmedUserChangesOptions;
  private readonly task: PeriodicTask;
  /** Refusals of the node by cluster and user; empty in a new process. `notBeforeMs`: monotonic time of the next attempt. */
  private readonly refused = new Map<string, { notBeforeMs: number; pauseMs: number; refusals: number }>();

  constructor(options: UnconfirmedUserChangesOptions) {
    this.options = options;
    const { clock, log } = options;
    const onError = ({ message }: Error) => log.error('users.unreadable', { reason: message });
    this.task = new PeriodicTask({ everyMs: checkEveryMs, clock, onError });
  }

  async note(clusterId: string, username: string): Promise<void> {
    this.refused.delete(keyOf(clusterId, username));
    await this.options.store
      .insertInto('user_doubts')
      .values({ cluster_id: clusterId, username, told_at: null })
      .onConflict((conflict) => conflict.columns(['cluster_id', 'username']).doUpdateSet({ told_at: null }))
      .execute();
  }

  start(confirm: Confirm): void {
    this.task.start(() => this.confirmDue(confirm));
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async confirmDue(confirm: Confirm): Promise<void> {
    const { store, home, clock } = this.options;
    const clusters = store.selectFrom('clusters').select('id').where('home', '=', home);
    const nowMs = clock.wallMs();
    const due = await store
      .selectFrom('user_doubts')
      .selectAll()
      .where('cluster_id', 'in', clusters.where('phase', 'in', servingPhases))
      // A time in the future was written before the clock was set back.
      .where((e) =>
        e.or([
          e('told_at', 'is', null),
          e('told_at', '<=', nowMs - secondConfirmationMs),
          e('told_at', '>', nowMs),
        ]),
      )
      .execute();
    const monotonicNowMs = clock.monotonicMs();
    const ready = due.filter(({ cluster_id, username }) => {
      const last = this.refused.get(keyOf(cluster_id, username));
      return last === undefined || last.notBeforeMs <= monotonicNowMs;
    });
    await Promise.all(ready.map((change) => this.confirmOne(change, confirm)));
  }

  private async confirmOne(change: UnconfirmedUserChangeRow, confirm: Confirm): Promise<void> {
    const { store, clock, log } = this.options;
    const { cluster_id, username, told_at } = change;
    const cluster = await store
      .selectFrom('clusters')
      .selectAll()
      .where('id', '=', cluster_id)
      .executeTakeFirst();
    if (cluster === undefined) return;
    try {
      await confirm(cluster, username);
    } catch (error) {
      log.info('user.change_unconfirmed', { cluster: cluster_id, reason: (error as Error).message });
      if (this.retriesAfter(change, error as Error)) return;
      log.error('user.change_given_up', { cluster: cluster_id, username, reason: (error as Error).message });
      await this.remove(change);
      return;
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
  private async remove({ cluster_id, username, told_at }: UnconfirmedUserChangeRow): Promise<void> {
    await this.options.store
      .deleteFrom('user_doubts')
      .where((e) => e.and({ cluster_id, username }))
      .where('told_at', told_at === null ? 'is' : '=', told_at)
      .execute();
  }
}

const keyOf = (clusterId: string, username: string): string => `${clusterId} ${username}`;
