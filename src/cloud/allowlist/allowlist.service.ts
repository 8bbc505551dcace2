// Allowlists: stored here, enforced by every listener of every node. Expired entries are removed on time.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { notFound } from '../answers/api-error.ts';
import type { ClusterNodes } from '../clusters/cluster-nodes.ts';
import { MergedRuns } from '../merged-runs.ts';
import { Rounds } from '../rounds.ts';
import type { AllowlistRow, ClusterRow } from '../store/tables.ts';
import type { EntryWish } from './allowlist.contract.ts';
import { type AllowlistStore, hasExpired } from './allowlist.store.ts';

const lookMs = 1_000;
const answerTimeoutMs = 3_000;
/** Rounds of telling nodes while others change the list at the same time. */
const roundsMax = 20;

export interface AllowlistOptions {
  entries: AllowlistStore;
  nodes: ClusterNodes;
  home: string;
  /** The address of the cloud's own connections. Without an address of its own it must be on every list. */
  operatorAddress: string | undefined;
  clock: Clock;
  log: Log;
}

export class AllowlistService {
  private readonly options: AllowlistOptions;
  /** Clusters whose nodes could not be updated, so that each failure is logged once. */
  private readonly untold = new Set<string>();
  private readonly rounds: Rounds;
  private readonly telling = new MergedRuns();

  constructor(options: AllowlistOptions) {
    this.options = options;
    const { clock, log } = options;
    const onError = ({ message }: Error) => log.error('allowlist.unreadable', { reason: message });
    this.rounds = new Rounds({ everyMs: lookMs, clock, onError });
  }

  start(): void {
    this.rounds.start(() => this.catchUp());
  }

  stop(): Promise<void> {
    return this.rounds.stop();
  }

  async list({ id }: ClusterRow): Promise<AllowlistRow[]> {
    const now = this.options.clock.wallMs();
    const rows = await this.options.entries.list(id);
    return rows.map((row) => (hasExpired(row, now) ? { ...row, state: 'expired' } : row));
  }

  async append(cluster: ClusterRow, wish: EntryWish): Promise<void> {
    await this.options.entries.add(cluster.id, wish);
    await this.tryToTell(cluster);
  }

  async replace(cluster: ClusterRow, wishes: readonly EntryWish[]): Promise<void> {
    await this.options.entries.replace(cluster.id, wishes);
    await this.tryToTell(cluster);
  }

  async remove(cluster: ClusterRow, cidr: string): Promise<void> {
    if (!(await this.options.entries.remove(cluster.id, cidr)))
      throw notFound(`there is no entry for ${cidr}`);
    await this.tryToTell(cluster);
  }

  /** Updates the nodes, or throws. Concurrent changes share a round: two hundred take no longer than two. */
  tell(cluster: ClusterRow): Promise<void> {
    return this.telling.run(cluster.id, () => this.tellNow(cluster));
  }

  /** Repeats if the list has changed meanwhile, so that the last write reaches the nodes. */
  private async tellNow(cluster: ClusterRow): Promise<void> {
    const { entries, clock } = this.options;
    for (let round = 0; round < roundsMax; round++) {
      const now = clock.wallMs();
      const rows = await entries.withRemoved(cluster.id);
      const told = admitted(rows, now);
      try {
        await this.tellNodes(cluster, told);
      } catch (error) {
        await entries.settle(rows, ({ state }) => (state === 'pending' ? 'failed' : state));
        throw error;
      }
      await entries.settle(rows, (row) => stateOnceTold(row, now));
      if (sameBlocks(told, admitted(await entries.list(cluster.id), now))) return;
    }
  }

  private async tellNodes(cluster: ClusterRow, rows: readonly AllowlistRow[]): Promise<void> {
    const own = this.options.operatorAddress === undefined ? ['127.0.0.1'] : [];
    const list = { entries: [...rows.map(({ cidr }) => cidr), ...own] };
    const clients = await this.options.nodes.clients(cluster);
    await Promise.all(
      clients.map((client) => client.put('/settings/clientAllowlist', list, answerTimeoutMs)),
    );
  }

  /** Retries failed updates until the nodes answer; logs each failure once. */
  private async tryToTell(cluster: ClusterRow): Promise<void> {
    const { id } = cluster;
    try {
      await this.tell(cluster);
      this.untold.delete(id);
    } catch (error) {
      const reason = (error as Error).message;
      if (!this.untold.has(id)) this.options.log.warn('allowlist.not_told', { cluster: id, reason });
      this.untold.add(id);
    }
  }

  /** In parallel, so that an unresponsive node does not delay other clusters. */
  private async catchUp(): Promise<void> {
    const behind = await this.options.entries.behind(this.options.home);
    const ids = new Set(behind.map(({ id }) => id));
    for (const id of this.untold) if (!ids.has(id)) this.untold.delete(id);
    await Promise.all(behind.map((cluster) => this.tryToTell(cluster)));
  }
}

/** Null: the entry is deleted. */
function stateOnceTold(row: AllowlistRow, now: number): string | null {
  if (row.state === 'removed') return null;
  return hasExpired(row, now) ? 'expired' : 'active';
}

const admitted = (rows: readonly AllowlistRow[], now: number): AllowlistRow[] =>
  rows.filter((row) => row.state !== 'removed' && !hasExpired(row, now));

const sameBlocks = (a: readonly AllowlistRow[], b: readonly AllowlistRow[]): boolean =>
  a.length === b.length &&
  a.every((row, i) => row.cidr === b[i]?.cidr && row.updated_at === b[i]?.updated_at);
