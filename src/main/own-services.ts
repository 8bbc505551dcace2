// The services of this process that are clients of its data port: an account whose secret lives in memory only, and an address of
// this machine that nobody else is admitted from by it.
import { join } from 'node:path';
import { type Deferred, deferred } from '#base/deferred.ts';
import { IndexHost } from '#index/host/index-host.ts';
import type { UserSpec } from '#kv/admin.ts';
import { operatorEntry } from '#ports/client-gate.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { makeOwnAccount, type OwnAccount } from './own-account.ts';

export interface OwnServicesOptions {
  readonly dataFolder: string;
  /** An address that reaches the plain data port from this machine. */
  readonly host: () => string;
  readonly operatorAddress: string | undefined;
  readonly log: Log;
}

/** A connection with requests under way that is silent for so long is given up. */
const timeoutMs = 30_000;
/** Folder of the index files in the data folder. */
export const indexFolder = 'index';

export class OwnServices {
  readonly index: IndexHost;
  private readonly options: OwnServicesOptions;
  private readonly port: Deferred<number> = deferred();
  private readonly loopback = realRandom.bytes(3);
  private account: OwnAccount | null = null;

  constructor(options: OwnServicesOptions) {
    this.options = options;
    this.index = new IndexHost({
      data: async () => ({ folder: join(options.dataFolder, indexFolder), ...(await this.access()) }),
      clock: realClock,
      log: options.log.child('index'),
    });
  }

  /** Before the data service knows who may log in. */
  async prepare(): Promise<void> {
    this.account ??= await makeOwnAccount('@divan-services');
  }

  get accounts(): UserSpec[] {
    return this.account === null ? [] : [this.account.spec];
  }

  /** Admitted by the ports of this node whatever the allowlist says. */
  get admitted(): readonly string[] {
    const address = this.localAddress();
    // As an operator is: any user of this machine could come from that address.
    return [operatorEntry(address ?? '::1')];
  }

  dataListens(port: number): void {
    this.port.resolve(port);
  }

  /** How a service reaches the data port. */
  async access() {
    const port = await this.port.promise;
    const localAddress = this.localAddress();
    const { username, password } = this.account as OwnAccount;
    const host = this.options.host();
    return {
      address: { host, port, timeoutMs, ...(localAddress !== undefined && { localAddress }) },
      account: { username, password },
    };
  }

  async stop(): Promise<void> {
    await this.index.stop();
  }

  /** An address of 127.0.0.0/8 of our own where the system has them all; else what every process of the machine has. */
  private localAddress(): string | undefined {
    const { operatorAddress, host } = this.options;
    if (operatorAddress !== undefined) return operatorAddress;
    if (host().includes(':')) return undefined;
    if (process.platform !== 'linux') return '127.0.0.1';
    const [a = 0, b = 0, c = 0] = this.loopback;
    return `127.${1 + (a % 254)}.${b}.${1 + (c % 254)}`;
  }
}
