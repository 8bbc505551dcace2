// Changes allowlists in the store and sends them to the nodes, whose listeners enforce them. Removes expired entries from the nodes.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import { notFound } from '../answers/api-error.ts';
import type { ClusterNodes } from '../clusters/cluster-nodes.ts';
import { MergedRuns } from '../merged-runs.ts';
import type { AllowlistRow, ClusterRow } from '../store/tables.ts';
import type { EntryRequest } from './allowlist.contract.ts';
import { type AllowlistStore, hasExpired } from './allowlist.store.ts';

const checkEveryMs = 1_000;
const answerTimeoutMs = 3_000;
/** The most updates of one call, if other requests change the list meanwhile. */
const attemptsMax = 20;
/** When the nodes get a list again after an update that failed: a request that a stalled node did not answer has ended by then. */
const repeatAfterMs = 30_000;

/** A list that the nodes get again. */
interface Repeat {
  readonly cluster: ClusterRow;
  /** The nodes have not applied a list since the failure. */
  readonly isFailed: boolean;
  /** By the monotonic clock. */
  readonly atMs: number;
}

export interface AllowlistOptions {
  entries: AllowlistStore;
  nodes: ClusterNodes;
  /** This cloud process; it updates the nodes of the clusters that it runs. */
  home: string;
  /** The address that the cloud connects from; undefined: 127.0.0.1, which is then added to every list. */
  operatorAddress: string | undefined;
  clock: Clock;
  log: Log;
}

export class AllowlistService {
  private readonly options: AllowlistOptions;
  /** Clusters whose nodes could not be updated, so that each failure is logged once. */
  private readonly notApplied = new Set<string>();
  /** By cluster: a stalled node may apply an unanswered update after a later one, and then admit what was removed. */
  private readonly repeats = new Map<string, Repeat>();
  private readonly updates: PeriodicTask;
  private readonly applying = new MergedRuns();

  constructor(options: AllowlistOptions) {
    this.options = options;
    const { clock, log } = options;
    const onError = ({ message }: Error) => log.error('allowlist.unreadable', { reason: message });
    this.updates = new PeriodicTask({ everyMs: checkEveryMs, clock, onError });
  }

  start(): void {
    this.updates.start(() => this.catchUp());
  }

  stop(): Promise<void> {
    return this.updates.stop();
  }

  async list({ id }: ClusterRow): Promise<AllowlistRow[]> {
    const nowMs = this.options.clock.wallMs();
    const rows = await this.options.entries.list(id);
    return rows.map((row) => (hasExpired(row, nowMs) ? { ...row, state: 'expired' } : row));
  }

  async append(cluster: ClusterRow, entry: EntryRequest): Promise<void> {
    await this.options.entries.add(cluster.id, entry);
    await this.tryToApply(cluster);
  }

  async replace(cluster: ClusterRow, entries: readonly EntryRequest[]): Promise<void> {
    await this.options.entries.replace(cluster.id, entries);
    await this.tryToApply(cluster);
  }

  async remove(cluster: ClusterRow, cidr: string): Promise<void> {
    if (!(await this.options.entries.remove(cluster.id, cidr)))
      throw notFound(`there is no entry for ${cidr}`);
    await this.tryToApply(cluster);
  }

  /** Updates the nodes, or throws. Concurrent changes share an update. */
  apply(cluster: ClusterRow): Promise<void> {
    return this.applying.run(cluster.id, () => this.applyNow(cluster));
  }

  /** Repeats if the list has changed meanwhile, so that the last write reaches the nodes. */
  private async applyNow(cluster: ClusterRow): Promise<void> {
    const { entries, clock } = this.options;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const nowMs = clock.wallMs();
      const rows = await entries.withRemoved(cluster.id);
      const sent = admitted(rows, nowMs);
      try {
        await this.applyToNodes(cluster, sent);
      } catch (error) {
        this.repeats.set(cluster.id, { cluster, isFailed: true, atMs: clock.monotonicMs() });
        await entries.recordStates(rows, ({ state }) => (state === 'pending' ? 'failed' : state));
        throw error;
      }
      this.applied(cluster);
      await entries.recordStates(rows, (row) => stateOnceApplied(row, nowMs));
      if (sameEntries(sent, admitted(await entries.list(cluster.id), nowMs))) return;
    }
  }

  private applied(cluster: ClusterRow): void {
    const nowMs = this.options.clock.monotonicMs();
    const repeat = this.repeats.get(cluster.id);
    if (repeat?.isFailed === true)
      this.repeats.set(cluster.id, { cluster, isFailed: false, atMs: nowMs + repeatAfterMs });
    else if (repeat !== undefined && repeat.atMs <= nowMs) this.repeats.delete(cluster.id);
  }

  private async applyToNodes(cluster: ClusterRow, rows: readonly AllowlistRow[]): Promise<void> {
    const operatorAddresses = this.options.operatorAddress === undefined ? ['127.0.0.1'] : [];
    const list = { entries: [...rows.map(({ cidr }) => cidr), ...operatorAddresses] };
    const clients = await this.options.nodes.clients(cluster);
    await Promise.all(
      clients.map((client) => client.put('/settings/clientAllowlist', list, answerTimeoutMs)),
    );
  }

  /** Updates the nodes. If that fails, `catchUp` retries until they answer; logs each failure once. */
  private async tryToApply(cluster: ClusterRow): Promise<void> {
    const { id } = cluster;
    try {
      await this.apply(cluster);
      this.notApplied.delete(id);
    } catch (error) {
      const reason = (error as Error).message;
      if (!this.notApplied.has(id)) this.options.log.warn('allowlist.not_applied', { cluster: id, reason });
      this.notApplied.add(id);
    }
  }

  /** Applies the lists that are due, in parallel, so that an unresponsive node does not delay other clusters. */
  private async catchUp(): Promise<void> {
    const { entries, home, clock } = this.options;
    const due = await entries.clustersDue(home);
    const ids = new Set(due.map(({ id }) => id));
    const nowMs = clock.monotonicMs();
    for (const { cluster, atMs } of this.repeats.values()) {
      if (atMs > nowMs || ids.has(cluster.id)) continue;
      ids.add(cluster.id);
      due.push(cluster);
    }
    for (const id of this.notApplied) if (!ids.has(id)) this.notApplied.delete(id);
    await Promise.all(due.map((cluster) => this.tryToApply(cluster)));
  }
}

/** The state of an entry after the nodes applied the list; null: the entry is deleted. */
function stateOnceApplied(row: AllowlistRow, nowMs: number): string | null {
  if (row.state === 'removed') return null;
  return hasExpired(row, nowMs) ? 'expired' : 'active';
}

const admitted = (rows: readonly AllowlistRow[], nowMs: number): AllowlistRow[] =>
  rows.filter((row) => row.state !== 'removed' && !hasExpired(row, nowMs));

const sameEntries = (a: readonly AllowlistRow[], b: readonly AllowlistRow[]): boolean =>
  a.length === b.length &&
  a.every((row, i) => row.cidr === b[i]?.cidr && row.updated_at === b[i]?.updated_at);
