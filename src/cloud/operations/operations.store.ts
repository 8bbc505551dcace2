// Stores operations: the work on a cluster, its progress, and the worker that holds the lease. A worker writes only while it holds the
// lease, so that of two workers with the same operation only one continues.
import type { ExpressionBuilder } from 'kysely';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { OperationRow, Store, Tables } from '../store/tables.ts';

export type OperationKind = 'create' | 'scale' | 'delete';
export type OperationState = 'open' | 'done' | 'failed';

export interface NewOperation {
  readonly clusterId: string;
  readonly projectId: string;
  readonly kind: OperationKind;
  readonly firstStep: string;
  readonly home: string;
  /** How long failed steps are retried, in milliseconds. */
  readonly timeLimitMs: number;
}

export interface OperationsStoreOptions {
  store: Store;
  clock: Clock;
  random: Random;
}

const leaseMs = 15_000;
/** The longest delay of a retry: a later time was written by another clock, or before the clock was set back. */
export const waitMaxMs = 5_000;
/** How many due operations one poll of a worker reads. */
const dueMax = 20;
/** How long, and how many, operations of deleted clusters are kept. */
const keptForMs = 30 * 86_400_000;
const keptMax = 10_000;

export class OperationsStore {
  private readonly options: OperationsStoreOptions;

  constructor(options: OperationsStoreOptions) {
    this.options = options;
  }

  /** Adds an open operation in the transaction that changes the cluster; resolves with its id. */
  async add(transaction: Store, operation: NewOperation): Promise<string> {
    const nowMs = this.options.clock.wallMs();
    const id = this.options.random.uuid();
    await transaction
      .insertInto('operations')
      .values({
        id,
        cluster_id: operation.clusterId,
        project_id: operation.projectId,
        kind: operation.kind,
        step: operation.firstStep,
        state: 'open',
        attempts: 0,
        last_error: null,
        home: operation.home,
        owner: null,
        lease_until: 0,
        next_at: nowMs,
        deadline: nowMs + operation.timeLimitMs,
        created_at: nowMs,
        updated_at: nowMs,
      })
      .execute();
    return id;
  }

  latestOf(clusterId: string): Promise<OperationRow | undefined> {
    const all = this.options.store.selectFrom('operations').selectAll().where('cluster_id', '=', clusterId);
    return all.orderBy('created_at', 'desc').orderBy('id').limit(1).executeTakeFirst();
  }

  /** The open deletion of the cluster, if there is one. */
  deletionInProgress(transaction: Store, clusterId: string): Promise<OperationRow | undefined> {
    const open = transaction.selectFrom('operations').selectAll().where('cluster_id', '=', clusterId);
    return open.where('state', '=', 'open').where('kind', '=', 'delete').executeTakeFirst();
  }

  /** Open operations that are due and not leased by another worker. */
  due(home: string, owner: string): Promise<OperationRow[]> {
    const nowMs = this.options.clock.wallMs();
    return this.options.store
      .selectFrom('operations')
      .selectAll()
      .where('state', '=', 'open')
      .where('home', '=', home)
      .where((e) => e.or([e('next_at', '<=', nowMs), e('next_at', '>', nowMs + waitMaxMs)]))
      .where(isFreeFor(owner, nowMs))
      .orderBy('next_at')
      .limit(dueMax)
      .execute();
  }

  /** When the next open operation without a lease is due; null if there is none. */
  async nextAt(home: string): Promise<number | null> {
    const { next_at } = await this.options.store
      .selectFrom('operations')
      .select((e) => e.fn.min('next_at').as('next_at'))
      .where('state', '=', 'open')
      .where('home', '=', home)
      .where('owner', 'is', null)
      .executeTakeFirstOrThrow();
    return next_at;
  }

  /** Acquires the lease; true on success. */
  async claim(id: string, owner: string): Promise<boolean> {
    const nowMs = this.options.clock.wallMs();
    const { numUpdatedRows } = await this.options.store
      .updateTable('operations')
      .set({ owner, lease_until: nowMs + leaseMs })
      .where('id', '=', id)
      .where('state', '=', 'open')
      .where(isFreeFor(owner, nowMs))
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /** Writes progress and renews the lease; false if another worker holds it now, or the operation has ended. */
  record(id: string, owner: string, change: Partial<OperationRow>): Promise<boolean> {
    return this.write(this.options.store, id, owner, change);
  }

  /** Ends a failed operation and sets the cluster's phase, in one transaction. */
  async fail(
    id: string,
    owner: string,
    change: Partial<OperationRow>,
    consequence: (transaction: Store) => Promise<void>,
  ): Promise<void> {
    await this.options.store.transaction().execute(async (transaction) => {
      const values = { ...change, state: 'failed', owner: null };
      if (await this.write(transaction, id, owner, values)) await consequence(transaction);
    });
  }

  private async write(
    store: Store,
    id: string,
    owner: string,
    change: Partial<OperationRow>,
  ): Promise<boolean> {
    const nowMs = this.options.clock.wallMs();
    const { numUpdatedRows } = await store
      .updateTable('operations')
      .set({ lease_until: nowMs + leaseMs, ...change, updated_at: nowMs })
      .where('id', '=', id)
      .where('owner', '=', owner)
      .where('state', '=', 'open')
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /**
   * Releases the leases of an ended process: only one process works for a home at a time. Adds the time without a process, which begins
   * with the last write, to the time limit of the operations.
   */
  async takeOver(home: string): Promise<void> {
    const { store, clock } = this.options;
    const nowMs = clock.wallMs();
    const open = store.updateTable('operations').where('home', '=', home).where('state', '=', 'open');
    await open
      .set((e) => ({
        deadline: e('deadline', '+', e(e.val(nowMs), '-', e.ref('updated_at'))),
        updated_at: nowMs,
      }))
      .where('updated_at', '<', nowMs)
      .execute();
    await open.set({ owner: null, lease_until: 0 }).execute();
  }

  /** Resets open operations that an earlier process left in one of the steps `from` to the step `to`. */
  async resetSteps(
    home: string,
    kind: OperationKind,
    { from, to }: { from: readonly string[]; to: string },
  ): Promise<void> {
    await this.options.store
      .updateTable('operations')
      .set({ step: to })
      .where('home', '=', home)
      .where('kind', '=', kind)
      .where('state', '=', 'open')
      .where('step', 'in', from)
      .execute();
  }

  /** Deletes old operations of deleted clusters. */
  async prune(): Promise<void> {
    const { store, clock } = this.options;
    const oldest = await store
      .selectFrom('operations')
      .select('updated_at')
      .where('state', '!=', 'open')
      .where('cluster_id', 'not in', (e) => e.selectFrom('clusters').select('id'))
      .orderBy('updated_at', 'desc')
      .offset(keptMax)
      .limit(1)
      .executeTakeFirst();
    const untilMs = Math.max(clock.wallMs() - keptForMs, oldest?.updated_at ?? 0);
    await store
      .deleteFrom('operations')
      .where('state', '!=', 'open')
      .where('updated_at', '<=', untilMs)
      .where('cluster_id', 'not in', (e) => e.selectFrom('clusters').select('id'))
      .execute();
  }

  /** Ends older open operations, which a newer one replaces. */
  async supersede(transaction: Store, clusterId: string, reason: string): Promise<void> {
    await transaction
      .updateTable('operations')
      .set({ state: 'failed', last_error: reason, owner: null, updated_at: this.options.clock.wallMs() })
      .where('cluster_id', '=', clusterId)
      .where('state', '=', 'open')
      .execute();
  }
}

/** A lease longer than the maximum was written by another clock. */
const isFreeFor = (owner: string, nowMs: number) => (e: ExpressionBuilder<Tables, 'operations'>) =>
  e.or([e('lease_until', '<', nowMs), e('lease_until', '>', nowMs + leaseMs), e('owner', '=', owner)]);
