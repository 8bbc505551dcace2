// The services of this process that are clients of its data port. They log in with an account whose secret is in memory only, from a
// loopback address at which the allowlist admits only processes of the same user.
import { join } from 'node:path';
import { type Deferred, deferred } from '#base/deferred.ts';
import type { ClusterLayout } from '#client/cluster-routes.ts';
import { IndexHost } from '#index/host/index-host.ts';
import { hasIndexFiles } from '#index/store/index-files.adapter.ts';
import type { KvDesired, UserSpec } from '#kv/admin.ts';
import { operatorEntry } from '#ports/client-gate.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { XdcrHost } from '#xdcr/host/xdcr-host.ts';
import { clusterLayoutOf } from './cluster-layout.ts';
import { indexFolder } from './membership-file.ts';
import { makeOwnAccount, type OwnAccount } from './own-account.ts';

export interface OwnServicesOptions {
  readonly dataFolder: string;
  /** An address that reaches the plain data port from this machine. */
  readonly host: () => string;
  readonly operatorAddress: string | undefined;
  readonly log: Log;
}

/** A connection with pending requests is closed after this time without a byte. */
const timeoutMs = 30_000;

export class OwnServices {
  readonly index: IndexHost;
  readonly xdcr: XdcrHost;
  /** Tells the backup service of a change of the cluster; does nothing on a node without this service. */
  backupCluster: (layout: ClusterLayout | null) => void = () => {};
  /** The running tasks of the backup service; none on a node without this service. */
  backupTasks: () => readonly Record<string, unknown>[] = () => [];
  private readonly options: OwnServicesOptions;
  private readonly port: Deferred<number> = deferred();
  private readonly loopback = realRandom.bytes(3);
  private account: OwnAccount | null = null;
  private cluster: ClusterLayout | null = null;

  constructor(options: OwnServicesOptions) {
    this.options = options;
    const folder = join(options.dataFolder, indexFolder);
    this.index = new IndexHost({
      data: async () => ({ folder, ...(await this.access()) }),
      hasFiles: () => hasIndexFiles(folder),
      clock: realClock,
      log: options.log.child('index'),
    });
    this.xdcr = new XdcrHost({
      data: () => this.access(),
      clock: realClock,
      log: options.log.child('xdcr'),
    });
  }

  /** Creates the account. Call before the data service gets its users. */
  async prepare(): Promise<void> {
    this.account ??= await makeOwnAccount('@divan-services');
  }

  get accounts(): UserSpec[] {
    return this.account === null ? [] : [this.account.spec];
  }

  /** The account with which this process logs in to its own REST ports and query service; null without one. */
  get login(): OwnAccount | null {
    return this.account;
  }

  /** Entries that the ports of this node admit in addition to the allowlist. */
  get admitted(): readonly string[] {
    const address = this.localAddress();
    // An operator entry also checks the user of the process, because any other user of this machine can connect from that address too.
    return [operatorEntry(address ?? '::1')];
  }

  dataListens(port: number): void {
    this.port.resolve(port);
  }

  /** Sets where the documents of other nodes are. */
  followCluster(desired: KvDesired): void {
    this.cluster = clusterLayoutOf(desired);
    this.index.followCluster(this.cluster);
    this.xdcr.followCluster(this.cluster);
    this.backupCluster(this.cluster);
  }

  /** The address and account with which a service connects to the data port. */
  async access() {
    const port = await this.port.promise;
    const localAddress = this.localAddress();
    const { username, password } = this.account as OwnAccount;
    const host = this.options.host();
    return {
      address: { host, port, timeoutMs, ...(localAddress !== undefined && { localAddress }) },
      account: { username, password },
      cluster: this.cluster,
    };
  }

  async stop(): Promise<void> {
    await this.xdcr.stop();
    await this.index.stop();
  }

  /**
   * The address from which the services connect: the operator's if one is set; undefined, so that the system chooses one, for an IPv6
   * host; a random address of 127.0.0.0/8 on Linux, which has them all; else the loopback address of all processes.
   */
  private localAddress(): string | undefined {
    const { operatorAddress, host } = this.options;
    if (operatorAddress !== undefined) return operatorAddress;
    if (host().includes(':')) return undefined;
    if (process.platform !== 'linux') return '127.0.0.1';
    const [a = 0, b = 0, c = 0] = this.loopback;
    return `127.${1 + (a % 254)}.${b}.${1 + (c % 254)}`;
  }
}
