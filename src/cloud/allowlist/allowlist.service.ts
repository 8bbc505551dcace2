// Allowlists: kept here, enforced by every listener of every node. Entries that run out are taken back on time.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ClusterNodes } from '../clusters/cluster-nodes.ts';
import { invalid, notFound } from '../http/goof.ts';
import type { AllowlistRow, ClusterRow } from '../store/tables.ts';
import { type EntryWish, entriesMax } from './allowlist.contract.ts';
import type { AllowlistStore } from './allowlist.store.ts';

const lookMs = 1_000;
/** Rounds of telling nodes while others change the list at the same time. */
const roundsMax = 20;

export interface AllowlistOptions {
  entries: AllowlistStore;
  nodes: ClusterNodes;
  home: string;
  /** Where the cloud itself comes from; where it has no address of its own it must be on every list. */
  operatorAddress: string | undefined;
  clock: Clock;
  log: Log;
}

export class AllowlistService {
  private readonly options: AllowlistOptions;
  private timer: Timer | null = null;
  private running: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(options: AllowlistOptions) {
    this.options = options;
  }

  start(): void {
    this.timer = this.options.clock.after(lookMs, () => {
      this.running = this.catchUp()
        .catch((error: Error) => this.options.log.error('allowlist.unreadable', { reason: error.message }))
        .finally(() => {
          if (!this.stopped) this.start();
        });
    });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.running;
  }

  async list({ id }: ClusterRow): Promise<AllowlistRow[]> {
    const now = this.options.clock.wallMs();
    const rows = await this.options.entries.list(id);
    return rows.map((row) =>
      row.expires_at !== null && row.expires_at <= now ? { ...row, state: 'expired' } : row,
    );
  }

  async append(cluster: ClusterRow, wish: EntryWish): Promise<void> {
    if ((await this.options.entries.list(cluster.id)).length >= entriesMax)
      throw invalid(`cidrBlock: the list has ${entriesMax} entries, which is the most it can have`);
    if (!(await this.options.entries.add(cluster.id, wish)))
      throw invalid(
        `cidrBlock: there is an entry for ${wish.cidrBlock} already; delete it first, or replace the list`,
      );
    await this.tell(cluster);
  }

  async replace(cluster: ClusterRow, wishes: readonly EntryWish[]): Promise<void> {
    await this.options.entries.replace(cluster.id, wishes);
    await this.tell(cluster);
  }

  async remove(cluster: ClusterRow, cidr: string): Promise<void> {
    if (!(await this.options.entries.remove(cluster.id, cidr)))
      throw notFound(`there is no entry for ${cidr}`);
    await this.tell(cluster);
  }

  /** Tells the nodes; again when the list has changed meanwhile, so that whoever writes last is heard. */
  async tell(cluster: ClusterRow): Promise<void> {
    const { entries, log } = this.options;
    await entries.expire(cluster.id);
    for (let round = 0; round < roundsMax; round++) {
      const told = await this.admitted(cluster.id);
      try {
        await this.tellNodes(cluster, told);
      } catch (error) {
        log.warn('allowlist.not_told', { cluster: cluster.id, reason: (error as Error).message });
        await entries.settle(cluster.id, told, 'failed');
        return;
      }
      await entries.settle(cluster.id, told, 'active');
      if (sameBlocks(told, await this.admitted(cluster.id))) return;
    }
  }

  private async tellNodes(cluster: ClusterRow, rows: readonly AllowlistRow[]): Promise<void> {
    const own = this.options.operatorAddress === undefined ? ['127.0.0.1'] : [];
    const list = { entries: [...rows.map(({ cidr }) => cidr), ...own] };
    const clients = await this.options.nodes.clients(cluster);
    await Promise.all(clients.map((client) => client.put('/settings/clientAllowlist', list)));
  }

  private async admitted(clusterId: string): Promise<AllowlistRow[]> {
    const now = this.options.clock.wallMs();
    const rows = await this.options.entries.list(clusterId);
    return rows.filter(({ expires_at }) => expires_at === null || expires_at > now);
  }

  private async catchUp(): Promise<void> {
    for (const cluster of await this.options.entries.behind(this.options.home)) await this.tell(cluster);
  }
}

const sameBlocks = (a: readonly AllowlistRow[], b: readonly AllowlistRow[]): boolean =>
  a.length === b.length &&
  a.every((row, i) => row.cidr === b[i]?.cidr && row.updated_at === b[i]?.updated_at);
