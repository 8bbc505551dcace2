// Which servers the cluster's own NATS has, with an authority, certificates and a password that nothing else uses.
import { isAddress } from '#base/address.ts';
import type { Random } from '#ports/random.ts';
import { showAddress } from '#replog/nats/nats-servers.ts';
import { serverUser, systemUser } from '#replog/own-servers/server-settings.ts';
import type { AlternativeName, IssueCertificates, KeyedCertificate } from '../certificates/issue.ts';
import type { ClusterState } from '../config/cluster-state.ts';
import type { NatsSource, ServerPlace, ServerTask } from '../joining/join-messages.ts';

/** With fewer servers the loss of one would stop the others. */
export const serversWanted = 3;

/** Whether no node joins, and none is added or removed by a rebalance. */
export const isSteady = ({ balance, nodes }: Pick<ClusterState, 'balance' | 'nodes'>): boolean =>
  balance === undefined && nodes.every(({ joining }) => joining !== true);

/** The name of the key-value bucket of JetStream that has the configuration. */
const bucket = 'divan';

/** What all servers of a cluster have in common; a server that replaces another one needs it too. Secret. */
export interface ServerCluster {
  /** The name of the servers' cluster. */
  readonly cluster: string;
  readonly password: string;
  readonly systemPassword: string;
  /** The authority, which signs only certificates of these servers. */
  readonly authority: KeyedCertificate;
  readonly places: readonly ServerPlace[];
}

export interface ServerPlan {
  /** By node id. */
  readonly tasks: ReadonlyMap<string, ServerTask>;
  readonly servers: ServerCluster;
}

interface ServerPlanDeps {
  readonly issue: IssueCertificates;
  readonly random: Random;
}

export async function planServers(places: readonly ServerPlace[], deps: ServerPlanDeps): Promise<ServerPlan> {
  const { random } = deps;
  const password = (): string => random.bytes(24).toString('base64url');
  const common = {
    cluster: `divan-${random.bytes(8).toString('hex')}`,
    password: password(),
    systemPassword: password(),
    places,
  };
  let authority: KeyedCertificate | null = null;
  const tasks = new Map<string, ServerTask>();
  for (const place of places) {
    const issued = await issueFor(place, authority, deps);
    authority = issued.authority;
    tasks.set(place.nodeId, taskOf(place, { ...common, authority }, issued.node));
  }
  if (authority === null) throw new Error('there is no place for a server');
  return { tasks, servers: { ...common, authority } };
}

/** Plans the server of another node in place of one that is lost. */
export async function planReplacement(
  servers: ServerCluster,
  { lost, place }: { lost: string; place: ServerPlace },
  deps: ServerPlanDeps,
): Promise<{ task: ServerTask; servers: ServerCluster }> {
  const places = servers.places.map((old) => (old.nodeId === lost ? place : old));
  const next = { ...servers, places };
  const { node } = await issueFor(place, servers.authority, deps);
  return { task: taskOf(place, next, node), servers: next };
}

/** Addresses and login that all nodes use. */
export const serverSourceOf = (servers: ServerCluster): NatsSource => ({
  servers: addressesOf(servers, serverUser, servers.password),
  bucket,
  files: { ca: { text: servers.authority.certificate } },
  own: true,
});

/** Addresses, and the login of the user that may change which servers belong to the cluster. */
export const systemSourceOf = (servers: ServerCluster): NatsSource => ({
  ...serverSourceOf(servers),
  servers: addressesOf(servers, systemUser, servers.systemPassword),
});

function addressesOf({ places }: ServerCluster, user: string, password: string): string {
  const addresses = places.map(({ host, port }) => showAddress({ host, port }));
  return `tls://${user}:${password}@${addresses.join(',')}`;
}

function issueFor(
  { host }: ServerPlace,
  authority: KeyedCertificate | null,
  { issue, random }: ServerPlanDeps,
) {
  const serial = (): string => `4${random.bytes(16).toString('hex').slice(1)}`;
  const suffix = `servers ${random.bytes(4).toString('hex')}`;
  const serials: [string, string, string] = [serial(), serial(), serial()];
  return issue({ authority, suffix, serials, names: namesOf(host), withRsa: false });
}

function taskOf(
  { host, port, routePort }: ServerPlace,
  { authority, cluster, password, places, systemPassword }: ServerCluster,
  { certificate: cert, key }: KeyedCertificate,
): ServerTask {
  const routes = places.map((place) => ({ host: place.host, port: place.routePort }));
  const tls = { ca: authority.certificate, cert, key };
  return { cluster, port, routePort, advertised: host, routes, password, systemPassword, tls };
}

/**
 * Where the NATS client connects to an IP address, it checks the certificate for the name "localhost". That name grants nothing else: the
 * authority signs only certificates of these servers.
 */
const namesOf = (host: string): AlternativeName[] =>
  !isAddress(host)
    ? [{ kind: 'dns', name: host }]
    : [
        { kind: 'ip', name: host },
        { kind: 'dns', name: 'localhost' },
      ];
