// Adds other nodes to this cluster: asks the node what it is, checks all reasons to refuse the node, writes its entry, sends it the cluster's secrets,
// and waits until it has started as a member. A join that fails leaves no entry, unless a rebalance has made the node active since it started.

import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { NodeAddress } from '#replog/node-address.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import type { ClusterState, NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { networkOfAdded } from '../config/node-network.ts';
import { until } from '../config/until.ts';
import { nodeAddressOf } from '../peers/inter-node.ts';
import type { NodeCertificates } from '../peers/node-certificates.ts';
import type { Peers } from '../peers/peers.ts';
import { joiningRefusals } from '../refusals/joining.refusals.ts';
import type { EncryptionLevel } from '../security/security-state.ts';
import { groupsOf } from '../server-groups/groups.ts';
import type { AddRequest } from './add-form.ts';
import { checkEngaged, clockLimits } from './engaged-checks.ts';
import type {
  EngagedNode,
  EngageRequest,
  FounderJoinParameters,
  JoinParameters,
  NatsJoinParameters,
  NatsSource,
  NodeMembership,
} from './join-messages.ts';
import { freeOtpNode } from './node-names.ts';
import {
  type CallRemote,
  type RemoteAnswer,
  type RemoteCall,
  RemoteError,
  refusedTexts,
} from './remote-node.ts';
import { type AbandonedJoins, removeNode } from './remove-node.ts';
import { SealedExchange } from './sealed-exchange.ts';
import { readTarget, type TargetAddress } from './target-address.ts';

export interface AddingDeps {
  view: ClusterView;
  cluster: ClusterStore;
  identity: NodeIdentity;
  certificates: NodeCertificates;
  membership: NodeMembership;
  peers: Peers;
  abandonedJoins: Pick<AbandonedJoins, 'removeLater'>;
  /** Deletes the record of the buckets that had files on a node; does nothing without one. */
  deleteFilesRecord(nodeId: string): Promise<void>;
  call: CallRemote;
  /** Why a port of a host cannot be reached from here; null if it can. */
  portProblem(host: string, port: number): Promise<string | null>;
  isLoopback(host: string): boolean;
  isProvisioned: () => boolean;
  security: { readonly encryptionLevel: EncryptionLevel | null };
  compatibility: number;
  clock: Clock;
  random: Random;
  log: Log;
}

const callTimeoutMs = 15_000;
/** How long the added node may take to start as a member. */
const startTimeoutMs = 60_000;
const pingTimeoutMs = 5_000;
/** How long the added node's port between nodes may refuse connections after the node has started. */
const reachTimeoutMs = 15_000;
const reachRetryPauseMs = 200;

export class AddingService {
  readonly #deps: AddingDeps;
  #isBusy = false;

  constructor(deps: AddingDeps) {
    this.#deps = deps;
  }

  /** Resolves with the name of the added node. Refuses a second addition while one runs. */
  async add(request: AddRequest): Promise<string> {
    if (!this.#deps.isProvisioned()) throw joiningRefusals.notProvisioned();
    this.#checkGroup(request);
    const { balance } = this.#deps.view.cluster;
    if (balance?.kind === 'failover') throw joiningRefusals.unfinishedFailover();
    if (balance !== undefined) throw joiningRefusals.rebalancing();
    if (this.#isBusy) throw joiningRefusals.busy();
    this.#isBusy = true;
    try {
      return await this.#add(request);
    } finally {
      this.#isBusy = false;
    }
  }

  #checkGroup({ group }: AddRequest): void {
    const { view } = this.#deps;
    if (group !== undefined && !groupsOf(view.cluster).some(({ uuid }) => uuid === group))
      throw joiningRefusals.unknownGroup({ uuid: group });
  }

  async #add(request: AddRequest): Promise<string> {
    const { identity, view, log, security } = this.#deps;
    const target = readTarget(request.hostname);
    if ('problem' in target) throw joiningRefusals.prepareFailed({ reason: target.problem });
    if (security.encryptionLevel === 'strict' && target.scheme === 'http')
      throw joiningRefusals.plainProhibited();
    const exchange = new SealedExchange(this.#deps.random);
    const { answer, engaged, skewMs } = await this.#engage(request, target, exchange);
    if (engaged.nodeId === identity.nodeId) throw joiningRefusals.itself();
    if (skewMs > clockLimits.warnMs) log.warn('joining.clock_skew', { node: request.hostname, skewMs });
    const host = this.#hostOf(engaged, target);
    checkEngaged({ ...this.#deps, engaged, skewMs, host, services: request.services, buckets: view.buckets });
    await this.#checkReach(engaged, target);
    return this.#admit({
      request,
      target: { ...target, scheme: answer.scheme },
      exchange,
      engaged,
      host,
      answer,
    });
  }

  async #engage(request: AddRequest, target: TargetAddress, exchange: SealedExchange) {
    const { clock, view, compatibility } = this.#deps;
    const sent: EngageRequest = {
      clusterUuid: view.cluster.uuid,
      compatibility,
      version: view.version,
      services: request.services,
      offer: exchange.offer,
    };
    const beganMs = clock.wallMs();
    const answer = await this.#call({ target, ...request, path: '/engageCluster2', content: { json: sent } });
    const endedMs = clock.wallMs();
    if (answer.status !== 200) throw joiningRefusals.prepareFailed({ reason: refusalText(answer) });
    const engaged = engagedOf(answer.body);
    // The time that the answer needed is not clock skew.
    const skewMs = Math.max(beganMs - engaged.wallMs, engaged.wallMs - endedMs, 0);
    return { answer, engaged, skewMs };
  }

  async #call(call: Omit<RemoteCall, 'timeoutMs'>): Promise<RemoteAnswer> {
    try {
      return await this.#deps.call({ ...call, timeoutMs: callTimeoutMs });
    } catch (error) {
      if (error instanceof RemoteError) throw joiningRefusals.prepareFailed({ reason: error.message });
      throw error;
    }
  }

  /** The name under which the cluster knows the node; null: it has no name, since it was added by a loopback address. */
  #hostOf({ hostname }: EngagedNode, { host }: TargetAddress): string | null {
    return hostname ?? (this.#deps.isLoopback(host) ? null : host);
  }

  async #checkReach({ ports }: EngagedNode, { host }: TargetAddress): Promise<void> {
    const problem = await this.#deps.portProblem(host, ports.kv);
    if (problem !== null) throw joiningRefusals.unreachable({ port: ports.kv, host, reason: problem });
  }

  async #admit(join: {
    request: AddRequest;
    target: TargetAddress;
    exchange: SealedExchange;
    engaged: EngagedNode;
    host: string | null;
    answer: RemoteAnswer;
  }): Promise<string> {
    const { certificates, view } = this.#deps;
    const { request, target, exchange, engaged, host, answer } = join;
    const { nodeId } = engaged;
    this.#natsSource(); // throws the refusal, if there is one, before anything is written
    await certificates.prepare();
    const credentials = await certificates.issueFor(nodeId);
    await this.#deleteFilesRecords(nodeId);
    const otpNode = await this.#addEntry(engaged, request, host, answer.localAddress);
    try {
      const parameters: JoinParameters = {
        clusterUuid: view.cluster.uuid,
        clusterKey: Buffer.from(this.#deps.membership.clusterKey()).toString('base64'),
        ...this.#source(answer.localAddress),
        credentials,
      };
      const sealed = exchange.seal(engaged.offer, `${request.user}:${request.password}`, parameters);
      await this.#complete(request, target, { clusterUuid: parameters.clusterUuid, sealed });
      await this.#waitForStart(nodeId);
      return otpNode;
    } catch (error) {
      await this.#withdraw(nodeId);
      throw error;
    }
  }

  /** Removes the entry of a node whose join failed. A node that has started may have become active by a rebalance meanwhile: it may have documents, and stays. */
  async #withdraw(nodeId: string): Promise<void> {
    const { abandonedJoins, cluster, log } = this.#deps;
    try {
      await removeNode(cluster, nodeId, ({ membership }) => membership !== 'active');
    } catch (error) {
      log.warn('joining.not_removed', { reason: (error as Error).message });
      abandonedJoins.removeLater(nodeId); // the entry keeps rebalances from starting
    }
  }

  /** Deletes the record of the node, which may have left with files of earlier buckets, and those of all nodes that left. */
  async #deleteFilesRecords(nodeId: string): Promise<void> {
    const { nodes, left = [] } = this.#deps.view.cluster;
    const gone = left.filter((id) => !nodes.some(({ uuid }) => uuid === id));
    for (const id of new Set([nodeId, ...gone])) await this.#deps.deleteFilesRecord(id);
  }

  /** Where the node finds the configuration. Called once the node has its entry: until then the configuration may move. */
  #source(localAddress: string): Pick<FounderJoinParameters, 'founder'> | Pick<NatsJoinParameters, 'nats'> {
    const nats = this.#natsSource();
    return nats === null ? { founder: this.#founder(localAddress) } : { nats };
  }

  #natsSource(): NatsSource | null {
    try {
      return this.#deps.membership.natsSource();
    } catch (error) {
      throw joiningRefusals.engine({ reason: (error as Error).message });
    }
  }

  /** Where the node finds the founder: at a name, else at the address of this connection. */
  #founder(localAddress: string): NodeAddress {
    const { view } = this.#deps;
    const founder = view.cluster.nodes.find(({ uuid }) => uuid === view.cluster.founder) ?? view.self;
    const { nodeId, port } = nodeAddressOf(founder);
    return { nodeId, port, host: founder.hostname ?? localAddress };
  }

  /** Writes the entry of the added node. Gives this node a name, if it had none that other machines reach. */
  async #addEntry(
    engaged: EngagedNode,
    { services, group }: AddRequest,
    host: string | null,
    localAddress: string,
  ): Promise<string> {
    const { cluster, identity, isLoopback, membership } = this.#deps;
    const { nodeId, ports, paths, alternate, version, compatibility } = engaged;
    let otpNode = '';
    await cluster.change((before) => {
      const state = withName(before, identity.nodeId, isLoopback(localAddress) ? null : localAddress);
      const unnamed = state.nodes.find((node) => node.hostname === null);
      if (host !== null && unnamed !== undefined)
        throw joiningRefusals.onlyLoopback({ otpNode: unnamed.otpNode });
      if (state.nodes.some(({ uuid }) => uuid === nodeId)) throw joiningRefusals.alreadyMember();
      otpNode = freeOtpNode(state, host ?? '127.0.0.1');
      const network = networkOfAdded(engaged.network, state.nodes);
      const entry: NodeState = {
        uuid: nodeId,
        otpNode,
        hostname: host,
        membership: 'inactiveAdded',
        joining: true,
        services: [...services],
        ports,
        paths,
        alternate,
        compatibility,
        ...(version !== undefined && { version }),
        ...(network && { network }),
        ...(group !== undefined && { group }),
      };
      return {
        ...state,
        ...(membership.isFounder && { founder: identity.nodeId }),
        left: (state.left ?? []).filter((id) => id !== nodeId),
        nodes: [...state.nodes, entry],
      };
    });
    return otpNode;
  }

  async #complete(
    { user, password }: AddRequest,
    target: TargetAddress,
    json: { clusterUuid: string; sealed: string },
  ): Promise<void> {
    const call = {
      target,
      user,
      password,
      path: '/completeJoin',
      content: { json },
      timeoutMs: callTimeoutMs,
    };
    const answer = await this.#deps.call(call).catch((error: Error) => {
      throw joiningRefusals.completionFailed({ reason: error.message });
    });
    if (answer.status !== 200) throw joiningRefusals.completionFailed({ reason: refusalText(answer) });
  }

  /** Resolves once the node runs as a member and answers this node. */
  async #waitForStart(nodeId: string): Promise<void> {
    const { view, clock } = this.#deps;
    const hasStarted = (): boolean =>
      view.cluster.nodes.some(({ uuid, joining }) => uuid === nodeId && joining !== true);
    if (!(await until(view, hasStarted, startTimeoutMs, clock)))
      throw joiningRefusals.completionFailed({
        reason: `The node did not start in ${startTimeoutMs / 1000} s.`,
      });
    await this.#reach(nodeId, clock.monotonicMs() + reachTimeoutMs);
  }

  /** Several attempts: the first may share a connection that another request began before the node listened. */
  async #reach(nodeId: string, untilMs: number): Promise<void> {
    const { clock, peers } = this.#deps;
    try {
      await peers.ask(nodeId, 'ping', null, pingTimeoutMs);
    } catch (error) {
      if (clock.monotonicMs() >= untilMs)
        throw joiningRefusals.completionFailed({
          reason: `The node started, but its port between nodes cannot be reached: ${(error as Error).message}.`,
        });
      await clock.sleep(reachRetryPauseMs);
      await this.#reach(nodeId, untilMs);
    }
  }

  /** Removes a node without documents. `Self` is this node. */
  async eject(sent: string | undefined): Promise<void> {
    const { view } = this.#deps;
    if (sent === undefined || sent === '') throw joiningRefusals.ejectWithoutName();
    const otpNode = sent === 'Self' ? view.self.otpNode : sent;
    const node = view.cluster.nodes.find((candidate) => candidate.otpNode === otpNode);
    if (node === undefined) throw joiningRefusals.ejectUnknown();
    await removeNode(this.#deps.cluster, node.uuid, ({ membership }, { founder }) => {
      if (membership === 'active') throw joiningRefusals.ejectActive();
      if (founder === node.uuid) throw joiningRefusals.ejectFounder({ otpNode });
      return true;
    });
  }
}

/** Gives a node that is alone and has no host name the address at which the first added node reaches it; null: only a loopback address. */
function withName(state: ClusterState, nodeId: string, address: string | null): ClusterState {
  const isAlone = state.nodes.length === 1;
  const name = (node: NodeState): NodeState => {
    if (node.uuid !== nodeId || node.hostname !== null || !isAlone) return node;
    return { ...node, hostname: address, otpNode: `ns_1@${address ?? '127.0.0.1'}` };
  };
  return { ...state, nodes: state.nodes.map(name) };
}

const refusalText = (answer: RemoteAnswer): string => refusedTexts(answer).join(' ');

function engagedOf(body: string): EngagedNode {
  try {
    const engaged = JSON.parse(body) as EngagedNode;
    if (typeof engaged.nodeId === 'string' && typeof engaged.offer === 'string') return engaged;
  } catch {
    // no JSON: something else answers there
  }
  throw joiningRefusals.prepareFailed({ reason: 'The other side is no node of this product.' });
}
