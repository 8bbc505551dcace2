// This node's side of joining a cluster: it describes itself, checks that it can reach the configuration, and stores the join durably before
// it gives up any of its own state. A request to join another cluster is a call of that cluster's addNode with this node's own address.
import { urlHost } from '#base/host-and-port.ts';
import type { Form } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { ConfigLink } from '#replog/mirror/config-link.ts';
import { parseServers } from '#replog/nats/nats-servers.ts';
import { nodeProtocols } from '#replog/served/node-connect.adapter.ts';
import { ServedConfigLink } from '#replog/served/served-config-link.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { networkOf } from '../config/node-network.ts';
import { nodeVersion } from '../config/node-versions.ts';
import { availableServices } from '../config/product.ts';
import type { NodeNet } from '../peers/inter-node.ts';
import { nodeQuotaMaxMb } from '../provisioning/quotas.ts';
import { readServices } from '../provisioning/service-names.ts';
import { joiningRefusals } from '../refusals/joining.refusals.ts';
import type { EncryptionLevel } from '../security/security-state.ts';
import { checkVersion } from './engaged-checks.ts';
import type { EngagedNode, EngageRequest, JoinParameters, NodeMembership } from './join-messages.ts';
import { type CallRemote, type RemoteAnswer, RemoteError, refusedTexts } from './remote-node.ts';
import { SealedExchange } from './sealed-exchange.ts';
import { readTarget, type TargetAddress } from './target-address.ts';

export interface JoiningDeps {
  view: ClusterView;
  identity: NodeIdentity;
  membership: NodeMembership;
  net: Pick<NodeNet, 'connect'>;
  call: CallRemote;
  isProvisioned: () => boolean;
  security: { readonly encryptionLevel: EncryptionLevel | null };
  memoryBytes: () => number;
  startedServices?: readonly string[] | undefined;
  /** The published number of the compatibility version; the same in all nodes of one release line. */
  compatibility: number;
  /** The version of protocols and records that this node knows: `ownVersion`, but for tests. */
  version: number;
  clock: Clock;
  random: Random;
}

/** How long after `engage` a `complete` is accepted. */
const engagedMs = 120_000;
/** The other cluster's answer comes only after this node has started as a member; `join` does not wait for it. */
const joinTimeoutMs = 90_000;
const probeTimeoutMs = 15_000;
/** A founder that has just made its certificates may not serve them yet. */
const storeAttempts = 4;
const storeRetryPauseMs = 500;

interface Engagement {
  request: EngageRequest;
  exchange: SealedExchange;
  untilMs: number;
}

export class JoiningService {
  readonly #deps: JoiningDeps;
  #engagement: Engagement | null = null;
  #joined = Promise.withResolvers<void>();

  constructor(deps: JoiningDeps) {
    this.#deps = deps;
  }

  /** Answers a cluster that will add this node: the first of its two calls. This node describes itself. */
  engage(body: unknown): EngagedNode {
    const { view, identity, membership, clock, random, compatibility } = this.#deps;
    const request = engageRequestOf(body);
    if (view.cluster.nodes.length > 1) throw joiningRefusals.alreadyMember();
    if (membership.engineProblem !== null) throw joiningRefusals.invalid([membership.engineProblem]);
    if (request.compatibility < compatibility) throw joiningRefusals.olderCluster();
    checkVersion(this.#deps.version, nodeVersion(request));
    this.#checkStarted();
    const exchange = new SealedExchange(random);
    this.#engagement = { request, exchange, untilMs: clock.monotonicMs() + engagedMs };
    const { ports, paths, hostname, alternate, network } = view.self;
    return {
      nodeId: identity.nodeId,
      compatibility,
      version: this.#deps.version,
      offer: exchange.offer,
      wallMs: clock.wallMs(),
      supportedServices: this.#deps.startedServices ?? availableServices,
      quotaMaxMb: nodeQuotaMaxMb(this.#deps.memoryBytes()),
      ports,
      paths,
      hostname,
      alternate,
      ...(network && { network: networkOf(view.self) }),
    };
  }

  /** Joins: the second call. `credentials` are those of the call, `user:password`. */
  async complete(body: unknown, credentials: string): Promise<void> {
    const { clusterUuid, sealed } = textsOf(body, ['clusterUuid', 'sealed']);
    const engagement = this.#engagement;
    const isLate = engagement !== null && this.#deps.clock.monotonicMs() > engagement.untilMs;
    if (engagement === null || isLate || engagement.request.clusterUuid !== clusterUuid)
      throw joiningRefusals.noEngagement();
    this.#engagement = null;
    const parameters = opened(engagement, credentials, sealed as string);
    await this.#checkStore(parameters);
    this.#deps.membership.join(parameters);
    this.#joined.resolve();
  }

  /** Checks that the configuration of the cluster can be read from here. */
  async #checkStore(parameters: JoinParameters): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const link = await this.#linkOf(parameters);
      try {
        await link.head();
        return;
      } catch (error) {
        if (attempt === storeAttempts) throw storeUnreachable(parameters, link, (error as Error).message);
      } finally {
        await link[Symbol.asyncDispose]();
      }
      await this.#deps.clock.sleep(storeRetryPauseMs);
    }
  }

  async #linkOf(parameters: JoinParameters): Promise<ConfigLink> {
    const { clock, random, net } = this.#deps;
    if (!('nats' in parameters)) {
      const connect = () => net.connect(parameters.founder, parameters.credentials, nodeProtocols.store);
      return new ServedConfigLink('the founder', connect);
    }
    // Loaded by nodes on NATS only.
    const { NatsConfigLink } = await import('#replog/nats/nats-config-link.adapter.ts');
    const { bucket, files, servers } = parameters.nats;
    return new NatsConfigLink({
      servers: parseServers(servers),
      bucket,
      files,
      mayCreate: false,
      clock,
      random,
    });
  }

  /** Asks another cluster to add this node; resolves once this node has stored that it joins. */
  async join(form: Form): Promise<void> {
    const { isProvisioned, view, membership } = this.#deps;
    if (isProvisioned() || view.cluster.nodes.length > 1) throw joiningRefusals.joinProvisioned();
    this.#checkStarted();
    const { target, user, password, services } = readJoinForm(form);
    if (membership.engineProblem !== null) throw joiningRefusals.invalid([membership.engineProblem]);
    const ended = new AbortController();
    this.#joined = Promise.withResolvers<void>();
    const added = this.#requestAddition(
      { target, user, password, services, name: form['newNodeHostname'] },
      ended.signal,
    );
    added.catch(() => {}); // the race below reports it, unless this node has joined before
    await Promise.race([this.#joined.promise, added]);
  }

  async #requestAddition(
    request: {
      target: TargetAddress;
      user: string;
      password: string;
      services: string;
      name?: string | undefined;
    },
    signal: AbortSignal,
  ): Promise<void> {
    const { call } = this.#deps;
    const { target, user, password, services, name } = request;
    const common = { target, user, password, signal };
    try {
      // The first call shows which scheme the port has, and under which address this node is seen.
      const probe = await call({ ...common, path: '/pools', timeoutMs: probeTimeoutMs });
      checkAccepted(probe);
      const form = { hostname: this.#ownUrl(probe, name), user: '', password: '', services };
      const reached = { ...target, scheme: probe.scheme };
      const path = '/controller/addNodeV2';
      const answer = await call({
        ...common,
        target: reached,
        path,
        content: { form },
        timeoutMs: joinTimeoutMs,
      });
      checkAccepted(answer);
      if (answer.status !== 200) throw joiningRefusals.remoteRefused(refusedTexts(answer));
    } catch (error) {
      if (error instanceof RemoteError) throw joiningRefusals.joinUnreachable({ reason: error.message });
      throw error;
    }
  }

  /** A node that has just left another cluster does not know its ports yet, and could not say where it is. */
  #checkStarted(): void {
    if (this.#deps.view.self.ports.kv === 0) throw joiningRefusals.starting();
  }

  #ownUrl({ scheme, localAddress }: RemoteAnswer, name: string | undefined): string {
    const { ports, hostname } = this.#deps.view.self;
    const host = name ?? hostname ?? localAddress;
    return `${scheme}://${urlHost(host)}:${scheme === 'https' ? ports.mgmtSSL : ports.mgmt}`;
  }
}

/** Throws unless the other cluster has the called path, and lets the user call it. */
function checkAccepted({ status }: RemoteAnswer): void {
  if (status === 401 || status === 403) throw joiningRefusals.wrongCredentials();
  if (status === 404) throw joiningRefusals.olderCluster();
}

function readJoinForm(form: Form) {
  const problems = ['user', 'password']
    .filter((name) => form[name] === undefined)
    .map((name) => `${name} is missing`);
  const hostname = memberOf(form);
  if (hostname === null) problems.unshift('Hostname is required.');
  else if (form['hostname'] === undefined && (form['clusterMemberPort'] ?? '') === '')
    problems.unshift('clusterMemberPort is missing');
  const services = form['services'] ?? 'kv';
  const { problem } = readServices(services);
  if (problem !== null) problems.push(problem);
  if (problems.length > 0) throw joiningRefusals.invalid(problems);
  const target = readTarget(hostname as string);
  if ('problem' in target) throw joiningRefusals.invalid([target.problem]);
  return { target, services, user: form['user'] as string, password: form['password'] as string };
}

/** The member of the cluster that the form names, by `hostname` or by address and port; null: none. That port may be the plain one or the one with TLS. */
function memberOf({
  hostname,
  clusterMemberHostIp: ip = '',
  clusterMemberPort: port = '',
}: Form): string | null {
  if (hostname !== undefined) return hostname === '' ? null : hostname;
  if (ip === '') return null;
  return `${ip.includes(':') && !ip.startsWith('[') ? `[${ip}]` : ip}:${port}`;
}

function storeUnreachable(parameters: JoinParameters, link: ConfigLink, reason: string): Error {
  if ('nats' in parameters) return joiningRefusals.natsUnreachable({ name: link.name, reason });
  const { host, port } = parameters.founder;
  return joiningRefusals.founderUnreachable({ reason: `${reason} (${host}:${port})` });
}

function opened({ request, exchange }: Engagement, credentials: string, sealed: string): JoinParameters {
  try {
    return exchange.open<JoinParameters>(request.offer, credentials, sealed);
  } catch {
    throw joiningRefusals.malformedCall({ field: 'sealed' });
  }
}

function engageRequestOf(body: unknown): EngageRequest {
  textsOf(body, ['clusterUuid', 'offer']);
  const request = body as EngageRequest;
  if (!Number.isInteger(request.compatibility))
    throw joiningRefusals.malformedCall({ field: 'compatibility' });
  const { version = 1 } = request as { version?: unknown };
  if (!Number.isInteger(version)) throw joiningRefusals.malformedCall({ field: 'version' });
  if (!Array.isArray(request.services)) throw joiningRefusals.malformedCall({ field: 'services' });
  return request;
}

function textsOf(body: unknown, names: readonly string[]): Record<string, string | undefined> {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, string>;
  const wrong = names.find((name) => typeof fields[name] !== 'string' || fields[name] === '');
  if (wrong !== undefined) throw joiningRefusals.malformedCall({ field: wrong });
  return fields;
}
