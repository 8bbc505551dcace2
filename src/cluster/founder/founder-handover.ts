// Before the founder leaves the cluster, it hands the configuration over to another node: it makes no changes meanwhile, the next
// founder stores all of it under the next epoch, and the earlier founder follows it as a member.

import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';
import type { StoreContent } from '#replog/mirror/config-link.ts';
import type { NodeAddress } from '#replog/node-address.ts';
import { type ClusterState, clusterKey, type NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import type { FounderJoinParameters, FounderTransfer } from '../joining/join-messages.ts';
import { nodeAddressOf } from '../peers/inter-node.ts';
import type { Peers } from '../peers/peers.ts';
import { failoverRefusals } from '../refusals/failover.refusals.ts';
import type { FounderChange } from './founder-change.ts';
import { handedOver } from './taken-over.ts';

export interface FounderHandoverDeps {
  view: Pick<ClusterView, 'cluster' | 'revisionEpoch'>;
  identity: NodeIdentity;
  /** Null: no node stores the configuration, since it is on NATS servers. */
  founderTransfer: FounderTransfer | null;
  joinParametersFor: (founder: NodeAddress) => FounderJoinParameters | null;
  peers: Pick<Peers, 'ask' | 'answer'>;
  change: Pick<FounderChange, 'announce' | 'head' | 'isBusy' | 'isHandingOver'>;
  store: ConfigStore;
  /** Ends the connections on which this node serves the configuration. */
  stopServing(): Promise<void>;
  clock: Clock;
  log: Log;
}

/** How long this founder asks a next founder that does not answer whether it has taken the configuration. */
const unknownOutcomeTimeoutMs = 30_000;
/** The time limit for the next founder, which writes the whole configuration. */
const takeTimeoutMs = 30_000;
/** The time limit for the question whether the next founder has taken the configuration. */
const takenTimeoutMs = 3_000;
/** How long a node that requests the handover from the founder waits for its outcome: longer than the founder may take. */
const requestTimeoutMs = takeTimeoutMs + unknownOutcomeTimeoutMs + takenTimeoutMs + 15_000;
/** The pause between two such questions. */
const againMs = 500;

export class FounderHandover {
  readonly #deps: FounderHandoverDeps;
  #isRunning = false;
  #isTaking = false;

  constructor(deps: FounderHandoverDeps) {
    this.#deps = deps;
    const { peers } = deps;
    peers.answer('founder/hand-over', ({ to }: { to: string }) => this.#handOver(to));
    peers.answer('founder/take', (content: StoreContent, from) => this.#takeOver(content, from));
    peers.answer('founder/taken', () => (this.#isTaking ? null : (deps.change.head.epoch ?? 1)));
  }

  /** Called before these nodes leave. If one of them stores the configuration, another node takes it over first. */
  async prepareDeparture(leaving: readonly NodeState[]): Promise<void> {
    const { view, identity, peers } = this.#deps;
    const { nodes, founder: id } = view.cluster;
    const founder = leaving.find(({ uuid }) => uuid === id);
    if (founder === undefined) return;
    const stays = ({ uuid, joining }: NodeState): boolean =>
      joining !== true && !leaving.some((node) => node.uuid === uuid);
    // Nodes with documents first, and this node before others.
    const rank = ({ uuid, membership }: NodeState): number =>
      (membership === 'active' ? 0 : 2) + (uuid === identity.nodeId ? 0 : 1);
    const [next] = nodes
      .filter((node) => stays(node) && node.membership !== 'inactiveFailed')
      .sort((a, b) => rank(a) - rank(b));
    if (next === undefined) throw failoverRefusals.founderAlone({ otpNode: founder.otpNode });
    try {
      if (founder.uuid === identity.nodeId) await this.#handOver(next.uuid);
      else await peers.ask(founder.uuid, 'founder/hand-over', { to: next.uuid }, requestTimeoutMs);
    } catch (error) {
      const reason = (error as Error).message;
      // The connection to the founder may be lost after it handed the configuration over.
      if (view.cluster.founder === next.uuid) return;
      throw failoverRefusals.founderStays({ otpNode: founder.otpNode, reason });
    }
  }

  async #handOver(to: string): Promise<void> {
    const { founderTransfer, view, joinParametersFor, log, change } = this.#deps;
    if (view.cluster.founder === to) return;
    const node = view.cluster.nodes.find(({ uuid }) => uuid === to);
    const parameters = node ? joinParametersFor(nodeAddressOf(node)) : null;
    if (founderTransfer === null || parameters === null || this.#isRunning)
      throw new Error('the configuration cannot be handed over now');
    this.#isRunning = true;
    // The announcement of the next founder arrives before its answer.
    change.isHandingOver = true;
    try {
      const content = await founderTransfer.pause();
      if (content === null) throw new Error('this node does not store the configuration');
      const epoch = view.revisionEpoch + 1;
      const outcome = await this.#offer(to, epoch, handedOver(content, to));
      if (outcome === 'unknown') await this.#remainFounder(epoch + 1);
      if (outcome !== 'taken') throw new Error('the next node did not take the configuration');
      await this.#deps.stopServing();
      await founderTransfer.handOver(parameters, epoch);
    } catch (error) {
      log.warn('founder.not_handed_over', { to, reason: (error as Error).message });
      throw error;
    } finally {
      founderTransfer.resume();
      change.isHandingOver = false;
      this.#isRunning = false;
    }
  }

  /** Without an answer, asks again whether the node has taken the configuration: two nodes must not change it. */
  async #offer(to: string, epoch: number, content: StoreContent): Promise<'taken' | 'refused' | 'unknown'> {
    const { peers, clock } = this.#deps;
    try {
      await peers.ask(to, 'founder/take', content, takeTimeoutMs);
      return 'taken';
    } catch {
      const untilMs = clock.monotonicMs() + unknownOutcomeTimeoutMs;
      while (clock.monotonicMs() < untilMs) {
        const knownEpoch = await peers
          .ask<number | null>(to, 'founder/taken', null, takenTimeoutMs)
          .catch(() => null);
        if (knownEpoch !== null) return knownEpoch >= epoch ? 'taken' : 'refused';
        await clock.sleep(againMs);
      }
      return 'unknown';
    }
  }

  /** This node stays the founder, in an epoch above that of a node that may have taken the configuration over before it was lost. */
  async #remainFounder(epoch: number): Promise<void> {
    const { founderTransfer, store, stopServing } = this.#deps;
    founderTransfer?.resume();
    await update<ClusterState | null>(
      store,
      clusterKey,
      null,
      (state) => state && { ...state, revEpoch: epoch },
    );
    await stopServing();
  }

  async #takeOver(content: StoreContent, from: string): Promise<void> {
    const { founderTransfer, change, log } = this.#deps;
    if (founderTransfer?.mirror == null || change.head.founder !== from || change.isBusy || this.#isTaking)
      throw new Error('this node follows another founder');
    this.#isTaking = true;
    try {
      await founderTransfer.takeOver(content);
      log.info('founder.taken', { from, revision: content.revision });
    } finally {
      this.#isTaking = false;
    }
    change.announce();
  }
}
