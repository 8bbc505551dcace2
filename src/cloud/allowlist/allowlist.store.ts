// The entries of allowlists as they are kept. A state is what the nodes were last told: `pending` until then.
import type { Clock } from '#ports/clock.ts';
import type { AllowlistRow, ClusterRow, Store } from '../store/tables.ts';
import type { EntryWish } from './allowlist.contract.ts';
import { durationMs } from './duration.ts';

export class AllowlistStore {
  private readonly store: Store;
  private readonly clock: Clock;

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.store = store;
    this.clock = clock;
  }

  list(clusterId: string): Promise<AllowlistRow[]> {
    return this.store
      .selectFrom('allowlist')
      .selectAll()
      .where('cluster_id', '=', clusterId)
      .orderBy('created_at')
      .orderBy('cidr')
      .execute();
  }

  /** False when there is an entry of this block, unless that has expired: then it begins anew. */
  async add(clusterId: string, wish: EntryWish): Promise<boolean> {
    const row = this.rowOf(clusterId, wish, this.clock.wallMs());
    return this.store.transaction().execute(async (transaction) => {
      await transaction
        .deleteFrom('allowlist')
        .where('cluster_id', '=', clusterId)
        .where('cidr', '=', wish.cidrBlock)
        .where('state', '=', 'expired')
        .execute();
      const { numInsertedOrUpdatedRows } = await transaction
        .insertInto('allowlist')
        .values(row)
        .onConflict((conflict) => conflict.columns(['cluster_id', 'cidr']).doNothing())
        .executeTakeFirst();
      return numInsertedOrUpdatedRows === 1n;
    });
  }

  /** All at once. An entry that stays keeps the time it was made. */
  async replace(clusterId: string, wishes: readonly EntryWish[]): Promise<void> {
    await this.store.transaction().execute(async (transaction) => {
      const of = transaction
        .selectFrom('allowlist')
        .select(['cidr', 'created_at'])
        .where('cluster_id', '=', clusterId);
      const madeAt = new Map((await of.execute()).map(({ cidr, created_at }) => [cidr, created_at]));
      await transaction.deleteFrom('allowlist').where('cluster_id', '=', clusterId).execute();
      const now = this.clock.wallMs();
      // In the order of the request, also among those that are made in the same millisecond.
      const rows = wishes.map((wish, i) =>
        this.rowOf(clusterId, wish, madeAt.get(wish.cidrBlock) ?? now + i),
      );
      if (rows.length > 0) await transaction.insertInto('allowlist').values(rows).execute();
    });
  }

  async remove(clusterId: string, cidr: string): Promise<boolean> {
    const { numDeletedRows } = await this.store
      .deleteFrom('allowlist')
      .where('cluster_id', '=', clusterId)
      .where('cidr', '=', cidr)
      .executeTakeFirst();
    return numDeletedRows === 1n;
  }

  async expire(clusterId: string): Promise<void> {
    await this.store
      .updateTable('allowlist')
      .set({ state: 'expired', updated_at: this.clock.wallMs() })
      .where('cluster_id', '=', clusterId)
      .where('expires_at', '<=', this.clock.wallMs())
      .where('state', '!=', 'expired')
      .execute();
  }

  /** What these entries are since the nodes were told of them; those changed meanwhile stay as they are. */
  async settle(clusterId: string, told: readonly AllowlistRow[], state: 'active' | 'failed'): Promise<void> {
    for (const { cidr, updated_at } of told) {
      await this.store
        .updateTable('allowlist')
        .set({ state })
        .where('cluster_id', '=', clusterId)
        .where('cidr', '=', cidr)
        .where('updated_at', '=', updated_at)
        .where('state', 'in', ['pending', 'failed'])
        .execute();
    }
  }

  /** Ready clusters of a home whose nodes have to be told something. */
  async behind(home: string): Promise<ClusterRow[]> {
    const due = this.store
      .selectFrom('allowlist')
      .select('cluster_id')
      .where((e) =>
        e.or([
          e('state', 'in', ['pending', 'failed']),
          e.and([e('state', '=', 'active'), e('expires_at', '<=', this.clock.wallMs())]),
        ]),
      );
    return this.store
      .selectFrom('clusters')
      .selectAll()
      .where('home', '=', home)
      .where('phase', '=', 'ready')
      .where('id', 'in', due)
      .execute();
  }

  private rowOf(clusterId: string, wish: EntryWish, createdAt: number): AllowlistRow {
    const now = this.clock.wallMs();
    const { duration = null } = wish;
    return {
      cluster_id: clusterId,
      cidr: wish.cidrBlock,
      duration,
      comment: wish.comment ?? null,
      state: 'pending',
      created_at: createdAt,
      updated_at: now,
      expires_at: duration === null ? null : now + (durationMs(duration) as number),
    };
  }
}
