// Moves the configuration from NATS servers of the nodes back to a founder: before a rebalance that leaves fewer than three nodes for the servers,
// and once all nodes were started without `--engine nats`. Documents are not touched. The node that becomes the founder makes the move; all
// others see the last change on the servers, or ask where the configuration is if they cannot reach these. Then each removes its server.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import type { EngineRecord, NodeMembership } from '../joining/join-messages.ts';
import { nodeAddressOf } from '../peers/inter-node.ts';
import type { Peers } from '../peers/peers.ts';
import { rebalanceRefusals } from '../refusals/rebalance.refusals.ts';
import type { EnginePlaces } from './engine-place.ts';
import { engineKey } from './engine-record.ts';
import { isSteady, serversWanted } from './server-plan.ts';
import type { ServerReplacement } from './server-replacement.ts';

export interface EngineReturnDeps {
  view: Pick<ClusterView, 'cluster' | 'activeNodes' | 'self'>;
  store: Pick<ConfigStore, 'get' | 'problem'>;
  identity: NodeIdentity;
  membership: Pick<NodeMembership, 'engineTransfer' | 'founderTransfer' | 'isFounder' | 'natsSource'>;
  replacement: Pick<ServerReplacement, 'replace'>;
  places: Pick<EnginePlaces, 'announce'>;
  peers: Pick<Peers, 'ask' | 'answer'>;
  clock: Clock;
  log: Log;
}

/** The pause after an attempt that failed. */
const retryPauseMs = 30_000;
/** The time limit for a node to answer whether it was started with `--engine nats`. */
const wantsMs = 5_000;
/** The time limit for the next founder, which copies the configuration. */
const returnMs = 60_000;
/** The time in which the other nodes see the last change on the servers. */
const seenMs = 5_000;
/** A server that was started for a move and is not in use after this time will not be used. */
const recordedMs = 180_000;

export class EngineReturn {
  readonly #deps: EngineReturnDeps;
  /** When the next attempt may begin. */
  #notBeforeMs = -Infinity;
  /** The move that is under way. */
  #returning: Promise<void> | null = null;
  /** When this node may remove a server that the configuration is not on. */
  #removeAtMs: number;
  /** Whether the configuration was on servers at the last check. */
  #wasOnServers = false;
  /** When the configuration last came back to this node. */
  #returnedMs = -Infinity;

  constructor(deps: EngineReturnDeps) {
    this.#deps = deps;
    this.#removeAtMs = deps.clock.monotonicMs() + recordedMs;
    deps.peers.answer('engine/wants', () => deps.membership.engineTransfer?.wantsServers ?? false);
    deps.peers.answer('engine/return', () => this.#return());
  }

  /** Whether the configuration has just come back to this node: it does not move again before the rebalance for which it came has begun. */
  get isRecent(): boolean {
    return this.#deps.clock.monotonicMs() < this.#returnedMs + retryPauseMs;
  }

  /** A server was started here for a move that has not ended. */
  serverStarted(): void {
    this.#wasOnServers = false;
    this.#removeAtMs = this.#deps.clock.monotonicMs() + recordedMs;
  }

  /** Finds a place for the configuration before these nodes leave. A node that was failed over has lost its server already. */
  async prepareDeparture(leaving: readonly NodeState[]): Promise<void> {
    const servers = await this.#serverNodes();
    const concerned = leaving.filter(({ uuid }) => servers.includes(uuid));
    const running = concerned.filter(({ membership }) => membership === 'active');
    const stays = this.#deps.view.cluster.nodes.filter(
      ({ uuid }) => !leaving.some((node) => node.uuid === uuid),
    );
    if (concerned.length > 0 && stays.length < serversWanted) {
      await this.#returnBefore(running, stays);
      return;
    }
    for (const { otpNode, uuid } of running) {
      const { isDone, obstacle } = await this.#replacement(uuid, otpNode, leaving);
      if (isDone) continue;
      if ((await this.#wanting(stays)) >= serversWanted)
        throw obstacle === undefined
          ? rebalanceRefusals.server({ otpNode })
          : rebalanceRefusals.serversStay({ otpNode, reason: withoutStop(obstacle) });
      await this.#returnBefore(running, stays);
      return;
    }
  }

  /** Has another node run a server in place of that of the node. @throws a refusal where all that offer to run one fail */
  async #replacement(id: string, otpNode: string, leaving: readonly NodeState[]) {
    try {
      return await this.#deps.replacement.replace(id, leaving);
    } catch (error) {
      throw rebalanceRefusals.serversStay({ otpNode, reason: reasonOf(error) });
    }
  }

  /** Call it at intervals. */
  async check(): Promise<void> {
    const { membership, store, view, clock } = this.#deps;
    if (membership.natsSource() === null) {
      await this.#removeServer();
      return;
    }
    this.#wasOnServers = true;
    if ((store.problem ?? null) !== null || clock.monotonicMs() < this.#notBeforeMs) return;
    if (!isSteady(view.cluster) || !(await this.#isFirst())) return;
    if (view.cluster.nodes.length >= serversWanted && !(await this.#isUnwanted())) return;
    this.#notBeforeMs = clock.monotonicMs() + retryPauseMs;
    await this.#return();
  }

  /** The nodes that run servers. */
  async #serverNodes(): Promise<readonly string[]> {
    return (await this.#deps.store.get<EngineRecord>(engineKey))?.value.nodes ?? [];
  }

  /** Whether this node is the first active one among those that run servers. */
  async #isFirst(): Promise<boolean> {
    const { view, identity } = this.#deps;
    const servers = await this.#serverNodes();
    const isActive = (id: string): boolean => view.activeNodes.some(({ uuid }) => uuid === id);
    return servers.find(isActive) === identity.nodeId;
  }

  /** Whether no node was started with `--engine nats`. */
  async #isUnwanted(): Promise<boolean> {
    const { membership, view } = this.#deps;
    if (membership.engineTransfer?.wantsServers !== false) return false;
    return (await this.#wanting(view.cluster.nodes)) === 0;
  }

  /** How many of these nodes were started with `--engine nats`. Nodes that do not answer are counted, since they may have been. */
  async #wanting(nodes: readonly NodeState[]): Promise<number> {
    const { identity, membership, peers } = this.#deps;
    const answers = await Promise.all(
      nodes.map(({ uuid }) =>
        uuid === identity.nodeId
          ? (membership.engineTransfer?.wantsServers ?? false)
          : peers.ask<boolean>(uuid, 'engine/wants', null, wantsMs).catch(() => true),
      ),
    );
    return answers.filter(Boolean).length;
  }

  /** Moves the configuration back. If that fails, the rebalance is refused only if one of the nodes that leave runs a server. */
  async #returnBefore(running: readonly NodeState[], stays: readonly NodeState[]): Promise<void> {
    try {
      await this.#returnOn(stays.filter(({ membership }) => membership === 'active'));
    } catch (error) {
      const reason = reasonOf(error);
      this.#deps.log.warn('engine.not_returned', { reason });
      const [first] = running;
      if (first !== undefined) throw rebalanceRefusals.serversStay({ otpNode: first.otpNode, reason });
    }
  }

  /** One of these nodes becomes the founder, this one before others. */
  async #returnOn(nodes: readonly NodeState[]): Promise<void> {
    const { identity, peers } = this.#deps;
    const rank = ({ uuid }: NodeState): number => (uuid === identity.nodeId ? 0 : 1);
    let failure: unknown = new Error('no node that stays is active');
    for (const { uuid } of [...nodes].sort((a, b) => rank(a) - rank(b))) {
      try {
        if (uuid === identity.nodeId) await this.#return();
        else await peers.ask(uuid, 'engine/return', null, returnMs);
        return;
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  #return(): Promise<void> {
    this.#returning ??= this.#returnHere().finally(() => {
      this.#returning = null;
    });
    return this.#returning;
  }

  async #returnHere(): Promise<void> {
    const { clock, membership, view, places, log } = this.#deps;
    if (membership.isFounder) return;
    if (membership.natsSource() === null) throw new Error('another node stores the configuration');
    await membership.engineTransfer?.returnToFounder(nodeAddressOf(view.self));
    this.#returnedMs = clock.monotonicMs();
    log.info('engine.returned', { founder: view.self.otpNode });
    await places.announce();
  }

  /** Removes this node's server once the other nodes have had time to see that the configuration has moved, and this node reaches the founder. */
  async #removeServer(): Promise<void> {
    const { clock, log, membership } = this.#deps;
    const { engineTransfer, founderTransfer, isFounder } = membership;
    if (this.#wasOnServers) this.#removeAtMs = clock.monotonicMs() + seenMs;
    this.#wasOnServers = false;
    const isReached = isFounder || founderTransfer?.mirror?.problem === null;
    if (!engineTransfer?.serverName() || !isReached || clock.monotonicMs() < this.#removeAtMs) return;
    await engineTransfer.removeServer();
    log.info('engine.own_server_removed', {});
  }
}

const reasonOf = (error: unknown): string => withoutStop((error as Error).message);
const withoutStop = (text: string): string => text.replace(/\.$/, '');
