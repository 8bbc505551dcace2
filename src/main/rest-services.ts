// The services of a node with REST ports of their own in the main thread: the index service and the backup service.
import type { ClusterManager } from '#cluster/manager.ts';
import type { HttpServer } from '#http/server.ts';
import type { Metrics } from '#metrics/metrics.feature.ts';
import type { Log } from '#ports/log.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { NodeOptions, PortOption } from './node-options.ts';
import type { OwnServices } from './own-services.ts';

/** A server, with the options of its two ports and the names under which clients find them. */
export interface RestService {
  readonly server: HttpServer;
  readonly option: PortOption;
  readonly tlsOption: PortOption;
  readonly port: 'indexHttp' | 'backupAPI';
  readonly tlsPort: 'indexHttps' | 'backupAPIHTTPS';
  readonly tls: ClusterManager['tls'];
  /** Called once all ports of the node are open. */
  readonly start?: () => void;
}

export interface RestServicesOptions {
  readonly options: NodeOptions;
  readonly manager: ClusterManager;
  readonly services: OwnServices;
  readonly store: ConfigStore;
  readonly nodeId: string;
  readonly restPort: () => number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'registry'>;
  runs(service: string): boolean;
  serve(routes: ClusterManager['routes']): Promise<HttpServer>;
  registered<T extends { stop(): unknown }>(name: string, part: T): T;
}

export async function restServices(parts: RestServicesOptions): Promise<RestService[]> {
  const { manager, serve, runs } = parts;
  const index = {
    port: 'indexHttp',
    tlsPort: 'indexHttps',
    option: 'index-port',
    tlsOption: 'index-tls-port',
  } as const;
  const started: RestService[] = [];
  if (runs('index'))
    started.push({ ...index, server: await serve(manager.indexRoutes), tls: manager.indexTls });
  if (runs('backup')) started.push(await backupService(parts));
  return started;
}

/** Loads the modules of the backup service only here: a node without the service does not load them. */
async function backupService(parts: RestServicesOptions): Promise<RestService> {
  const { manager, serve, registered, log, services, metrics } = parts;
  const { NodeBackupService } = await import('./node-backup-service.ts');
  const part = registered('backup service', new NodeBackupService({ ...parts, log: log.child('backup') }));
  await part.open();
  services.backupCluster = (layout) => part.followCluster(layout);
  services.backupTasks = () => part.service.shownTasks();
  metrics.registry.add('backup', { collect: () => part.service.metrics.collect() });
  return {
    port: 'backupAPI',
    tlsPort: 'backupAPIHTTPS',
    option: 'backup-port',
    tlsOption: 'backup-tls-port',
    server: await serve(part.routes),
    tls: manager.backupTls,
    start: () => part.start(),
  };
}
