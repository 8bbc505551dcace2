// User changes that a node did not confirm. A stalled node may still apply an unanswered request later, and overwrite what was sent in
// between. So the cloud sends the stored user to the node twice; by the second time, the late request should have ended.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import { servingPhases } from '../clusters/phase.ts';
import type { ClusterRow, Store, UnconfirmedUserChangeRow } from '../store/tables.ts';

const checkEveryMs = 2_000;
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

  constructor(options: UnconfirmedUserChangesOptions) {
    this.options = options;
    const { clock, log } = options;
    const onError = ({ message }: Error) => log.error('users.unreadable', { reason: message });
    this.task = new PeriodicTask({ everyMs: checkEveryMs, clock, onError });
  }

  async note(clusterId: string, username: string): Promise<void> {
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
    const now = clock.wallMs();
    const due = await store
      .selectFrom('user_doubts')
      .selectAll()
      .where('cluster_id', 'in', clusters.where('phase', 'in', servingPhases))
      // A time in the future was written before the clock was set back.
      .where((e) =>
        e.or([
          e('told_at', 'is', null),
          e('told_at', '<=', now - secondConfirmationMs),
          e('told_at', '>', now),
        ]),
      )
      .execute();
    await Promise.all(due.map((change) => this.confirmOne(change, confirm)));
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
      return;
    }
    const key = { cluster_id, username };
    if (told_at === null)
      await store
        .updateTable('user_doubts')
        .set({ told_at: clock.wallMs() })
        .where((e) => e.and(key))
        .execute();
    else
      await store
        .deleteFrom('user_doubts')
        .where((e) => e.and(key))
        .where('told_at', '=', told_at)
        .execute();
  }
}
