// Moves the configuration from the founder to NATS servers on three nodes, as soon as three nodes that were started with `--engine nats` can run
// one. Documents are not touched. The last change in the founder's store names the servers; the others get them from the founder, and a node that was away
// asks any other node.
import type { SecretBox } from '#auth/secret-box.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import type { Random } from '#ports/random.ts';
import type { IssueCertificates } from '../certificates/issue.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { olderNodes, since } from '../config/node-versions.ts';
import type { NodeMembership, ServerPlace, ServerTask } from '../joining/join-messages.ts';
import { nodeAddressOf } from '../peers/inter-node.ts';
import type { Peers } from '../peers/peers.ts';
import type { EnginePlaces } from './engine-place.ts';
import { engineRecordOf, movedToServers } from './engine-record.ts';
import type { EngineReturn } from './engine-return.ts';
import { type ServerOffers, takenPorts } from './server-offers.ts';
import { isSteady, planServers, serverSourceOf, serversWanted } from './server-plan.ts';
import type { ServerReplacement } from './server-replacement.ts';

export interface EngineMoveDeps {
  view: Pick<ClusterView, 'cluster' | 'activeNodes'>;
  identity: NodeIdentity;
  membership: Pick<NodeMembership, 'isFounder' | 'engineTransfer' | 'natsSource'>;
  offers: ServerOffers;
  places: Pick<EnginePlaces, 'announce' | 'check' | 'parameters'>;
  replacement: Pick<ServerReplacement, 'start' | 'stop'>;
  returning: Pick<EngineReturn, 'prepareDeparture' | 'check' | 'isRecent' | 'serverStarted'>;
  secrets: SecretBox;
  peers: Pick<Peers, 'ask' | 'answer'>;
  /** Ends the connections on which this node serves the configuration. */
  stopServing(): Promise<void>;
  issue: IssueCertificates;
  random: Random;
  clock: Clock;
  log: Log;
}

const checkEveryMs = 2_000;
/** The pause after an attempt that failed. */
const retryPauseMs = 30_000;
/** The time limit for a node to start its NATS server, which may have to stop an earlier server first. */
const runMs = 60_000;

export class EngineMove {
  readonly #deps: EngineMoveDeps;
  readonly #checks: PeriodicTask;
  /** When the next attempt may begin. */
  #notBeforeMs = 0;

  constructor(deps: EngineMoveDeps) {
    this.#deps = deps;
    const { clock, log, peers } = deps;
    this.#checks = new PeriodicTask({
      everyMs: checkEveryMs,
      clock,
      onError: (error) => log.warn('engine.not_moved', { reason: error.message }),
    });
    peers.answer('engine/run', (task: ServerTask) => this.#run(task));
  }

  start(): void {
    if (this.#deps.membership.engineTransfer !== null) this.#checks.start(() => this.#check());
    this.#deps.replacement.start();
  }

  async stop(): Promise<void> {
    await this.#deps.replacement.stop();
    await this.#checks.stop();
  }

  /** Finds another place for the configuration, or for a server of it, before these nodes leave. */
  prepareDeparture(leaving: readonly NodeState[]): Promise<void> {
    return this.#deps.returning.prepareDeparture(leaving);
  }

  async #check(): Promise<void> {
    const { membership, places, returning, view, clock } = this.#deps;
    await places.check();
    await returning.check();
    if (membership.natsSource() !== null || clock.monotonicMs() < this.#notBeforeMs) return;
    const { cluster, activeNodes } = view;
    if (
      !membership.isFounder ||
      returning.isRecent ||
      !isSteady(cluster) ||
      activeNodes.length < serversWanted
    )
      return;
    this.#notBeforeMs = clock.monotonicMs() + retryPauseMs;
    const older = olderNodes(cluster.nodes, since.ownNatsServers);
    if (older.length > 0) this.#deps.log.info('engine.waits_for_upgrade', { nodes: older.join(', ') });
    else await this.#move();
  }

  async #move(): Promise<void> {
    const { membership, peers, places, secrets, identity, log } = this.#deps;
    const chosen = await this.#chosen();
    if (chosen === null) return;
    const { tasks, servers } = await planServers(chosen, this.#deps);
    const record = engineRecordOf(servers, secrets);
    await Promise.all(
      [...tasks].map(([nodeId, task]) =>
        nodeId === identity.nodeId ? this.#run(task) : peers.ask(nodeId, 'engine/run', task, runMs),
      ),
    );
    await membership.engineTransfer?.moveToServers({
      parameters: places.parameters(serverSourceOf(servers)),
      record,
      contentAfter: ({ records }) => movedToServers(records, record),
      committed: () => this.#deps.stopServing(),
    });
    log.info('engine.moved', { nodes: record.nodes });
    await places.announce();
  }

  /** The first nodes that can run a server; null: fewer than wanted. This node must be one of them, so that its log shows if the server program is wrong. */
  async #chosen(): Promise<ServerPlace[] | null> {
    const { identity, offers, view, log } = this.#deps;
    const isSelf = ({ uuid }: NodeState): boolean => uuid === identity.nodeId;
    const candidates = [...view.activeNodes].sort((a, b) => Number(isSelf(b)) - Number(isSelf(a)));
    const places: ServerPlace[] = [];
    for (const node of candidates) {
      const { host } = nodeAddressOf(node);
      const offer = await offers.offerOf(node, takenPorts(host, places));
      if (offer === null && isSelf(node)) return null;
      if (offer !== null) places.push({ nodeId: node.uuid, host, ...offer });
      if (places.length === serversWanted) return places;
    }
    log.warn('engine.too_few_servers', { nodes: places.map(({ nodeId }) => nodeId), wanted: serversWanted });
    return null;
  }

  async #run(task: ServerTask): Promise<void> {
    const { membership } = this.#deps;
    if (membership.natsSource() !== null) throw new Error('this node uses NATS servers already');
    this.#deps.returning.serverStarted();
    await membership.engineTransfer?.runServer(task);
  }
}
