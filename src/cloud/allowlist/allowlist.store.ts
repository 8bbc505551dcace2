// The entries of allowlists as they are kept. A state is what the nodes were last told: `pending` until then, and `removed` for what
// is to go and they still admit.
import type { ExpressionBuilder } from 'kysely';
import type { Clock } from '#ports/clock.ts';
import { invalid, notFound } from '../answers/api-error.ts';
import { hold } from '../store/hold.ts';
import type { AllowlistRow, ClusterRow, Store, Tables } from '../store/tables.ts';
import { type EntryWish, entriesMax } from './allowlist.contract.ts';
import { durationMs } from './duration.ts';

export class AllowlistStore {
  private readonly store: Store;
  private readonly clock: Clock;

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.store = store;
    this.clock = clock;
  }

  async list(clusterId: string): Promise<AllowlistRow[]> {
    return (await this.withRemoved(clusterId)).filter(({ state }) => state !== 'removed');
  }

  /** Also what was removed and nodes were not told of yet. */
  withRemoved(clusterId: string, store: Store = this.store): Promise<AllowlistRow[]> {
    return store
      .selectFrom('allowlist')
      .selectAll()
      .where('cluster_id', '=', clusterId)
      .orderBy('created_at')
      .orderBy('cidr')
      .execute();
  }

  /** Throws when there is an entry of this block, unless that has expired, or as many entries as there can be. */
  async add(clusterId: string, wish: EntryWish): Promise<void> {
    const row = this.rowOf(clusterId, wish, this.clock.wallMs());
    await this.change(clusterId, (present) => {
      const others = present.filter(({ cidr }) => cidr !== wish.cidrBlock);
      const same = present.find(({ cidr }) => cidr === wish.cidrBlock);
      if (same !== undefined && same.state !== 'removed' && !hasExpired(same, row.created_at))
        throw invalid(
          `cidrBlock: there is an entry for ${wish.cidrBlock} already; delete it first, or replace the list`,
        );
      if (others.filter(({ state }) => state !== 'removed').length >= entriesMax)
        throw invalid(`cidrBlock: the list has ${entriesMax} entries, which is the most it can have`);
      return [...others, row];
    });
  }

  /**
   * Whoever reads the list, changes an entry and sends all back changes that entry alone: the time of one with the same duration goes
   * on, and one that has run out stays so.
   */
  async replace(clusterId: string, wishes: readonly EntryWish[]): Promise<void> {
    const now = this.clock.wallMs();
    await this.change(clusterId, (present) => {
      const listed = new Map(
        present.filter(({ state }) => state !== 'removed').map((row) => [row.cidr, row]),
      );
      // In the order of the request, also among those that are made in the same millisecond.
      return wishes.map((wish, i) =>
        staying(listed.get(wish.cidrBlock), this.rowOf(clusterId, wish, now + i)),
      );
    });
  }

  /** The whole list at once; what is no more on it is kept until the nodes are told so. */
  private async change(
    clusterId: string,
    to: (present: AllowlistRow[]) => readonly AllowlistRow[],
  ): Promise<void> {
    await this.store.transaction().execute(async (transaction) => {
      if (!(await hold(transaction, 'clusters', clusterId)))
        throw notFound(`there is no cluster ${clusterId}`);
      const present = await this.withRemoved(clusterId, transaction);
      const rows = to(present);
      const kept = new Set(rows.map(({ cidr }) => cidr));
      const gone = present.filter(({ cidr }) => !kept.has(cidr));
      const removed = gone.map((row) => ({ ...row, state: 'removed', updated_at: this.clock.wallMs() }));
      await transaction.deleteFrom('allowlist').where('cluster_id', '=', clusterId).execute();
      if (rows.length + removed.length > 0)
        await transaction
          .insertInto('allowlist')
          .values([...rows, ...removed])
          .execute();
    });
  }

  /** False when there is none. */
  async remove(clusterId: string, cidr: string): Promise<boolean> {
    const { numUpdatedRows } = await this.store
      .updateTable('allowlist')
      .set({ state: 'removed', updated_at: this.clock.wallMs() })
      .where('cluster_id', '=', clusterId)
      .where('cidr', '=', cidr)
      .where('state', '!=', 'removed')
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /** What these are since the nodes were told, or could not be; those changed meanwhile stay as they are. */
  async settle(rows: readonly AllowlistRow[], stateOf: (row: AllowlistRow) => string | null): Promise<void> {
    const changes = rows.map((row) => ({ row, to: stateOf(row) })).filter(({ row, to }) => to !== row.state);
    const clusterId = changes[0]?.row.cluster_id;
    if (clusterId === undefined) return;
    await this.store.transaction().execute(async (transaction) => {
      // As whoever changes the list does: else each of two can hold an entry that the other waits for.
      if (!(await hold(transaction, 'clusters', clusterId))) return;
      for (const { row, to } of changes) {
        if (to === null) await transaction.deleteFrom('allowlist').where(unchanged(row)).execute();
        else await transaction.updateTable('allowlist').set({ state: to }).where(unchanged(row)).execute();
      }
    });
  }

  /** Ready clusters of a home whose nodes have to be told something. */
  async behind(home: string): Promise<ClusterRow[]> {
    const due = this.store
      .selectFrom('allowlist')
      .select('cluster_id')
      .where((e) =>
        e.or([
          e('state', 'in', ['pending', 'failed', 'removed']),
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

/** What becomes of a listed entry that is asked for again. */
function staying(listed: AllowlistRow | undefined, wanted: AllowlistRow): AllowlistRow {
  if (listed === undefined) return wanted;
  if (listed.duration === wanted.duration && listed.comment === wanted.comment) return listed;
  const { created_at } = listed;
  if (lasting(listed) !== lasting(wanted)) return { ...wanted, created_at };
  const state = listed.state === 'expired' ? listed.state : wanted.state;
  return { ...wanted, created_at, state, expires_at: listed.expires_at };
}

const lasting = ({ duration }: AllowlistRow): number | null =>
  duration === null ? null : durationMs(duration);

/** For good, also when the clock is set back. */
export const hasExpired = ({ state, expires_at }: AllowlistRow, now: number): boolean =>
  state === 'expired' || (expires_at !== null && expires_at <= now);

const unchanged =
  ({ cluster_id, cidr, state, updated_at }: AllowlistRow) =>
  (e: ExpressionBuilder<Tables, 'allowlist'>) =>
    e.and({ cluster_id, cidr, state, updated_at });
