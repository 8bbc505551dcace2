// The NATS server that a node runs beside itself: one of three that store the configuration of its cluster, and nothing else.
import { type NatsAddress, showAddress } from '../nats/nats-servers.ts';

/** What the server needs besides its data folder. */
export interface OwnServerSettings {
  /** The name of the servers' cluster: servers of another one are refused. */
  readonly cluster: string;
  /** The address on which the server listens. */
  readonly host: string;
  /** The port for the nodes. */
  readonly port: number;
  /** The port for the other servers. */
  readonly routePort: number;
  /** How others reach this machine. */
  readonly advertised: string;
  /** Addresses of all servers, this one included. */
  readonly routes: readonly NatsAddress[];
  /** The password with which nodes log in. */
  readonly password: string;
  /** The password with which nodes log in to change which servers belong to the cluster. */
  readonly systemPassword: string;
  readonly tls: ServerCertificate;
}

/** PEM texts. The authority signs nothing but these servers. */
export interface ServerCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface ServerPaths {
  readonly store: string;
  readonly log: string;
  readonly pid: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** The name with which nodes log in. */
export const serverUser = 'divan';
/** The name with which they change which servers belong to the cluster. */
export const systemUser = 'divan-system';
const systemAccount = 'SYSTEM';
const storeMaxBytes = 1024 * 1024 * 1024;
const payloadMaxBytes = 8 * 1024 * 1024;
const logMaxBytes = 4 * 1024 * 1024;

/** The server's configuration file. JSON is a form that it reads. */
export function serverConfiguration(settings: OwnServerSettings, name: string, paths: ServerPaths): string {
  const { cluster, host, port, routePort, advertised, routes, password, systemPassword } = settings;
  const certificates = { cert_file: paths.cert, key_file: paths.key, ca_file: paths.ca };
  const configuration = {
    server_name: name,
    listen: showAddress({ host, port }),
    client_advertise: showAddress({ host: advertised, port }),
    pid_file: paths.pid,
    log_file: paths.log,
    logfile_size_limit: logMaxBytes,
    logfile_max_num: 2,
    max_payload: payloadMaxBytes,
    tls: certificates,
    authorization: { users: [{ user: serverUser, password }] },
    accounts: { [systemAccount]: { users: [{ user: systemUser, password: systemPassword }] } },
    system_account: systemAccount,
    // With every change synced, a loss of power loses nothing that was acknowledged.
    jetstream: { store_dir: paths.store, max_file_store: storeMaxBytes, sync_interval: 'always' },
    cluster: {
      name: cluster,
      listen: showAddress({ host, port: routePort }),
      advertise: showAddress({ host: advertised, port: routePort }),
      // One connection between two servers carries the few changes.
      pool_size: -1,
      // Servers need no password: only they have a certificate of this authority.
      tls: { ...certificates, verify: true },
      routes: routes.map((route) => `nats-route://${showAddress(route)}`),
    },
  };
  return `${JSON.stringify(configuration, null, 2)}\n`;
}
