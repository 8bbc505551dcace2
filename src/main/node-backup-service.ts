// Runs the backup service in a node: keeps its state in the configuration of the cluster, and provides its routes. Loaded only by a node that
// runs the service.
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { BackupHost } from '#backup/host/backup-host.ts';
import { backupRoutes } from '#backup/service/backup.routes.ts';
import { BackupService } from '#backup/service/backup-service.ts';
import { type BackupState, noBackupState } from '#backup/service/backup-state.ts';
import type { ClusterLayout } from '#client/cluster-routes.ts';
import { WatchedSetting } from '#cluster/config/watched-setting.ts';
import type { ClusterManager } from '#cluster/manager.ts';
import type { BoundRoute } from '#contract/route.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { NodeOptions } from './node-options.ts';
import type { OwnServices } from './own-services.ts';

export interface NodeBackupServiceOptions {
  readonly options: NodeOptions;
  readonly manager: ClusterManager;
  readonly services: OwnServices;
  readonly store: ConfigStore;
  readonly nodeId: string;
  readonly restPort: () => number;
  readonly log: Log;
}

/** Below the data folder, unless the administrator allows others. */
const folderDefault = 'backups';

export class NodeBackupService {
  readonly routes: readonly BoundRoute[];
  readonly service: BackupService;
  private readonly state: WatchedSetting<BackupState>;
  private readonly host: BackupHost;

  constructor({ options, manager, services, store, nodeId, restPort, log }: NodeBackupServiceOptions) {
    this.state = new WatchedSetting<BackupState>(store, 'backup', noBackupState);
    this.host = new BackupHost({ clock: realClock, log });
    const { state, host: runner } = this;
    const roots = options['backup-root'];
    this.service = new BackupService({
      state,
      runner,
      nodeId,
      log,
      clock: realClock,
      random: realRandom,
      roots: roots.length > 0 ? roots : [join(options['data-dir'], folderDefault)],
      runsSchedule: () => manager.runsBackupSchedule(),
      bucketUuid: (name) => manager.hooks.bucketUuid(name),
      ownAccess: async () => {
        const { address, account, cluster } = await services.access();
        const { host, localAddress } = address;
        const ownCluster = { address, layout: cluster };
        return { host, port: restPort(), ...account, localAddress, ownCluster };
      },
      authorities: async () => [...rootCertificates, ...(await manager.certificates.trusted())].join('\n'),
      failed: (repository, text) => manager.alertWatch.backupFailed(repository, text),
    });
    this.routes = backupRoutes(this.service);
  }

  /** Call once the configuration is open. */
  async open(): Promise<void> {
    await this.state.start();
  }

  /** Call once the ports of the node are open: the schedule begins. */
  start(): void {
    this.service.start();
  }

  /** Call after each change of where the vbuckets of the cluster are. */
  followCluster(layout: ClusterLayout | null): void {
    this.host.followCluster(layout);
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await this.host.stop();
    this.state.stop();
  }
}
