// The restarted node of a process keeps its ports, also the free ones that the system chose.
import type { NodePorts } from '#cluster/config/cluster-state.ts';
import type { NodeOptions } from './node-options.ts';

/** The ports that a node had, as options. Those that it has not opened, which are 0, are left as the options have them. */
export function keptPorts(ports: NodePorts): Partial<NodeOptions> {
  const named = {
    'rest-port': ports.mgmt,
    'rest-tls-port': ports.mgmtSSL,
    'kv-port': ports.kv,
    'kv-tls-port': ports.kvSSL,
    'capi-port': ports.capi,
    'capi-tls-port': ports.capiSSL,
    'dist-port': ports.distTCP,
    'dist-tls-port': ports.distTLS,
    'query-port': ports.n1ql,
    'replication-port': ports.replication,
    'query-tls-port': ports.n1qlSSL,
    'index-port': ports.indexHttp,
    'index-tls-port': ports.indexHttps,
    'backup-port': ports.backupAPI,
    'backup-tls-port': ports.backupAPIHTTPS,
  };
  return Object.fromEntries(Object.entries(named).filter(([, port]) => port !== undefined && port !== 0));
}
