// Stores allowlist entries. The state of an entry: `pending` until the nodes have applied it, then `active`, `expired` or `failed`;
// `removed`: deleted, but a node may still admit it.
// The text of an entry is as sent; entries are compared by the network that it names.
import type { ExpressionBuilder } from 'kysely';
import { rangeIdentity } from '#ports/address-ranges.ts';
import type { Clock } from '#ports/clock.ts';
import { invalid, notFound } from '../answers/api-error.ts';
import { servingPhases } from '../clusters/phase.ts';
import { lockRow } from '../store/lock-row.ts';
import type { AllowlistRow, ClusterRow, Store, Tables } from '../store/tables.ts';
import { type EntryRequest, entriesMax } from './allowlist.contract.ts';
import { durationMs } from './duration.ts';

/** Databases limit the values of one statement: SQLite to 32,766, PostgreSQL to 65,535. A row has eight. */
const rowsPerInsert = 1_000;

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

  /** Includes removed entries that a node may still admit. */
  withRemoved(clusterId: string, store: Store = this.store): Promise<AllowlistRow[]> {
    return store
      .selectFrom('allowlist')
      .selectAll()
      .where('cluster_id', '=', clusterId)
      .orderBy('created_at')
      .orderBy('cidr')
      .execute();
  }

  /** Throws if the block has an unexpired entry or the list is full of unexpired ones. */
  async add(clusterId: string, entry: EntryRequest): Promise<void> {
    const row = this.rowOf(clusterId, entry, this.clock.wallMs());
    await this.change(clusterId, (present) => {
      const network = rangeIdentity(entry.cidrBlock);
      const listed = present.filter(({ state }) => state !== 'removed');
      const existing = listed.find(
        (other) => rangeIdentity(other.cidr) === network && !hasExpired(other, row.created_at),
      );
      if (existing !== undefined)
        throw invalid(
          `cidrBlock: there is an entry for ${existing.cidr} already; delete it first, or replace the list`,
        );
      const others = listed.filter(({ cidr }) => rangeIdentity(cidr) !== network);
      return [...withRoom(others, row.created_at), row];
    });
  }

  /**
   * A client may read the list, change one entry and send everything back: other entries with the same duration keep their expiry
   * time, and expired ones stay expired.
   */
  async replace(clusterId: string, replacements: readonly EntryRequest[]): Promise<void> {
    const nowMs = this.clock.wallMs();
    await this.change(clusterId, (present) => {
      const listed = new Map(
        present.filter(({ state }) => state !== 'removed').map((row) => [rangeIdentity(row.cidr), row]),
      );
      // Lists are sorted by creation time: `now + i` keeps the order of the request.
      return replacements.map((entry, i) =>
        replacementRow(listed.get(rangeIdentity(entry.cidrBlock)), this.rowOf(clusterId, entry, nowMs + i)),
      );
    });
  }

  /**
   * Replaces the list. Entries that are no longer on it are kept as `removed` until the nodes have applied that. Nodes get the whole list, so one
   * removed entry is enough to cause their update: at most as many are kept as a list may have, however long the nodes do not answer.
   */
  private async change(
    clusterId: string,
    newRows: (present: AllowlistRow[]) => readonly AllowlistRow[],
  ): Promise<void> {
    await this.store.transaction().execute(async (transaction) => {
      if (!(await lockRow(transaction, 'clusters', clusterId)))
        throw notFound(`there is no cluster ${clusterId}`);
      const present = await this.withRemoved(clusterId, transaction);
      const rows = newRows(present);
      const remaining = new Set(rows.map(({ cidr }) => cidr));
      const dropped = present.filter(({ cidr }) => !remaining.has(cidr)).slice(-entriesMax);
      const removed = dropped.map((row) => ({ ...row, state: 'removed', updated_at: this.clock.wallMs() }));
      await transaction.deleteFrom('allowlist').where('cluster_id', '=', clusterId).execute();
      const all = [...rows, ...removed];
      for (let from = 0; from < all.length; from += rowsPerInsert)
        await transaction
          .insertInto('allowlist')
          .values(all.slice(from, from + rowsPerInsert))
          .execute();
    });
  }

  /** False if there is no such entry. */
  async remove(clusterId: string, cidr: string): Promise<boolean> {
    return this.store.transaction().execute(async (transaction) => {
      if (!(await lockRow(transaction, 'clusters', clusterId))) return false;
      const present = await this.withRemoved(clusterId, transaction);
      const spellings = present
        .filter((row) => row.state !== 'removed' && rangeIdentity(row.cidr) === rangeIdentity(cidr))
        .map((row) => row.cidr);
      if (spellings.length === 0) return false;
      await transaction
        .updateTable('allowlist')
        .set({ state: 'removed', updated_at: this.clock.wallMs() })
        .where('cluster_id', '=', clusterId)
        .where('cidr', 'in', spellings)
        .execute();
      return true;
    });
  }

  /** Sets the states of these entries after an update of the nodes; null: deletes the entry. Entries changed meanwhile are left alone. */
  async recordStates(
    rows: readonly AllowlistRow[],
    stateOf: (row: AllowlistRow) => string | null,
  ): Promise<void> {
    const changes = rows.map((row) => ({ row, to: stateOf(row) })).filter(({ row, to }) => to !== row.state);
    const clusterId = changes[0]?.row.cluster_id;
    if (clusterId === undefined) return;
    await this.store.transaction().execute(async (transaction) => {
      // Lock the cluster row first, as every change of the list does: otherwise two transactions can deadlock.
      if (!(await lockRow(transaction, 'clusters', clusterId))) return;
      for (const { row, to } of changes) {
        if (to === null) await transaction.deleteFrom('allowlist').where(unchanged(row)).execute();
        else await transaction.updateTable('allowlist').set({ state: to }).where(unchanged(row)).execute();
      }
    });
  }

  /** Serving clusters whose nodes the cloud process `home` runs, and whose nodes have not applied all entries. */
  async clustersDue(home: string): Promise<ClusterRow[]> {
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
      .where('phase', 'in', servingPhases)
      .where('id', 'in', due)
      .execute();
  }

  private rowOf(clusterId: string, entry: EntryRequest, createdAt: number): AllowlistRow {
    const nowMs = this.clock.wallMs();
    const { duration = null } = entry;
    return {
      cluster_id: clusterId,
      cidr: entry.cidrBlock,
      duration,
      comment: entry.comment ?? null,
      state: 'pending',
      created_at: createdAt,
      updated_at: nowMs,
      expires_at: duration === null ? null : nowMs + (durationMs(duration) as number),
    };
  }
}

/** The list with room for one more entry: a full one drops those that expired first. Throws if none has expired. */
function withRoom(listed: readonly AllowlistRow[], nowMs: number): readonly AllowlistRow[] {
  if (listed.length < entriesMax) return listed;
  const excess = listed.length - entriesMax + 1;
  const expired = listed.filter((row) => hasExpired(row, nowMs));
  if (expired.length < excess)
    throw invalid(`cidrBlock: the list has ${entriesMax} entries, which is the most it can have`);
  const dropped = expired.sort((a, b) => (a.expires_at ?? 0) - (b.expires_at ?? 0)).slice(0, excess);
  return listed.filter((row) => !dropped.includes(row));
}

/** The row of a requested entry. `listed`: the present entry of the same block; undefined: there is none. */
function replacementRow(listed: AllowlistRow | undefined, sent: AllowlistRow): AllowlistRow {
  if (listed === undefined) return sent;
  const isSame = (field: 'cidr' | 'duration' | 'comment'): boolean => listed[field] === sent[field];
  if (isSame('cidr') && isSame('duration') && isSame('comment')) return listed;
  const { created_at } = listed;
  if (durationOf(listed) !== durationOf(sent)) return { ...sent, created_at };
  const state = listed.state === 'expired' ? listed.state : sent.state;
  return { ...sent, created_at, state, expires_at: listed.expires_at };
}

const durationOf = ({ duration }: AllowlistRow): number | null =>
  duration === null ? null : durationMs(duration);

/** An expired entry stays expired, even if the clock is set back. */
export const hasExpired = ({ state, expires_at }: AllowlistRow, nowMs: number): boolean =>
  state === 'expired' || (expires_at !== null && expires_at <= nowMs);

const unchanged =
  ({ cluster_id, cidr, state, updated_at }: AllowlistRow) =>
  (e: ExpressionBuilder<Tables, 'allowlist'>) =>
    e.and({ cluster_id, cidr, state, updated_at });
