// Moves the configuration from the founder to NATS servers that three nodes run, as soon as three nodes can: `--engine nats`. Documents are
// not touched. The last change in the founder's store names the servers; the others get them from the founder, and a node that was away
// asks any other node.
import type { SecretBox } from '#auth/secret-box.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import type { Random } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { Issue } from '../certificates/issue.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { olderNodes, since } from '../config/node-versions.ts';
import type {
  EngineRecord,
  NatsJoinParameters,
  NatsSource,
  NodeMembership,
  ServerPlace,
  ServerTask,
} from '../joining/join-messages.ts';
import { nodeAddressOf } from '../peers/inter-node.ts';
import type { NodeCertificates } from '../peers/node-certificates.ts';
import type { Peers } from '../peers/peers.ts';
import { rebalanceRefusals } from '../refusals/rebalance.refusals.ts';
import { engineKey, engineRecordOf, engineSecret, movedToServers } from './engine-record.ts';
import { type ServerOffers, takenPorts } from './server-offers.ts';
import { planServers, serverSourceOf, serversWanted } from './server-plan.ts';
import type { ServerReplacement } from './server-replacement.ts';

export interface EngineMoveDeps {
  view: Pick<ClusterView, 'cluster' | 'activeNodes'>;
  store: ConfigStore;
  identity: NodeIdentity;
  membership: Pick<
    NodeMembership,
    'isFounder' | 'clusterKey' | 'engineTransfer' | 'founderTransfer' | 'natsSource'
  >;
  certificates: Pick<NodeCertificates, 'ownCredentials'>;
  offers: ServerOffers;
  replacement: Pick<ServerReplacement, 'replace' | 'start' | 'stop'>;
  secrets: SecretBox;
  peers: Pick<Peers, 'ask' | 'answer'>;
  /** Ends the connections on which this node serves the configuration. */
  stopServing(): Promise<void>;
  issue: Issue;
  random: Random;
  clock: Clock;
  log: Log;
}

const checkMs = 2_000;
/** After an attempt that failed. */
const againMs = 30_000;
/** The program is started, and may have to replace an earlier one. */
const runMs = 60_000;
const noticeMs = 5_000;

export class EngineMove {
  readonly #deps: EngineMoveDeps;
  readonly #checks: PeriodicTask;
  #notBeforeMs = 0;
  #isFollowing = false;

  constructor(deps: EngineMoveDeps) {
    this.#deps = deps;
    const { clock, log, peers, store } = deps;
    this.#checks = new PeriodicTask({
      everyMs: checkMs,
      clock,
      onError: (error) => log.warn('engine.not_moved', { reason: error.message }),
    });
    peers.answer('engine/run', (task: ServerTask) => this.#run(task));
    peers.answer('engine/moved', (record: EngineRecord) => this.#follow(record));
    peers.answer('engine/record', async () => {
      if (deps.membership.natsSource() === null) return null;
      return (await store.get<EngineRecord>(engineKey))?.value ?? null;
    });
  }

  start(): void {
    if (this.#deps.membership.engineTransfer !== null) this.#checks.start(() => this.#check());
    this.#deps.replacement.start();
  }

  async stop(): Promise<void> {
    await this.#deps.replacement.stop();
    await this.#checks.stop();
  }

  /** Refuses that nodes leave whose servers the others need, and no other node can run. One that was failed over is lost already. */
  async before(leaving: readonly NodeState[]): Promise<void> {
    const servers = (await this.#deps.store.get<EngineRecord>(engineKey))?.value.nodes ?? [];
    for (const { membership, otpNode, uuid } of leaving) {
      if (membership !== 'active' || !servers.includes(uuid)) continue;
      if (!(await this.#deps.replacement.replace(uuid, leaving))) throw rebalanceRefusals.server({ otpNode });
    }
  }

  async #check(): Promise<void> {
    const { membership, view, clock } = this.#deps;
    if (membership.natsSource() !== null || clock.monotonicMs() < this.#notBeforeMs) return;
    if ((membership.founderTransfer?.mirror?.problem ?? null) !== null) await this.#ask();
    const { nodes, balance } = view.cluster;
    const isSteady = balance === undefined && nodes.every(({ joining }) => joining !== true);
    if (!membership.isFounder || !isSteady || view.activeNodes.length < serversWanted) return;
    this.#notBeforeMs = clock.monotonicMs() + againMs;
    const older = olderNodes(nodes, since.ownNatsServers);
    if (older.length > 0) this.#deps.log.info('engine.waits_for_upgrade', { nodes: older.join(', ') });
    else await this.#move();
  }

  async #move(): Promise<void> {
    const { membership, peers, secrets, identity, log } = this.#deps;
    const places = await this.#places();
    if (places === null) return;
    const { tasks, servers } = await planServers(places, this.#deps);
    const record = engineRecordOf(servers, secrets);
    await Promise.all(
      [...tasks].map(([nodeId, task]) =>
        nodeId === identity.nodeId ? this.#run(task) : peers.ask(nodeId, 'engine/run', task, runMs),
      ),
    );
    await membership.engineTransfer?.moveToServers({
      parameters: this.#parameters(serverSourceOf(servers)),
      record,
      contentAfter: ({ records }) => movedToServers(records, record),
      committed: () => this.#deps.stopServing(),
    });
    log.info('engine.moved', { nodes: record.nodes });
    await this.#announce(record);
  }

  /** The first nodes that can run a server; null: fewer than wanted. This node is one of them, so that it notices a wrong program first. */
  async #places(): Promise<ServerPlace[] | null> {
    const { identity, offers, view, log } = this.#deps;
    const isSelf = ({ uuid }: NodeState): boolean => uuid === identity.nodeId;
    const candidates = [...view.activeNodes].sort((a, b) => Number(isSelf(b)) - Number(isSelf(a)));
    const places: ServerPlace[] = [];
    for (const node of candidates) {
      const { host } = nodeAddressOf(node);
      const offer = await offers.of(node, takenPorts(host, places));
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
    await membership.engineTransfer?.runServer(task);
  }

  /** Those that it does not reach ask for it themselves. */
  async #announce(record: EngineRecord): Promise<void> {
    const { view, identity, peers } = this.#deps;
    const others = view.cluster.nodes.filter(({ uuid }) => uuid !== identity.nodeId);
    await Promise.allSettled(others.map(({ uuid }) => peers.ask(uuid, 'engine/moved', record, noticeMs)));
  }

  /** The founder cannot be reached: it may have moved the configuration while this node was away. */
  async #ask(): Promise<void> {
    const { view, identity, peers } = this.#deps;
    for (const { uuid } of view.cluster.nodes) {
      if (uuid === identity.nodeId) continue;
      const record = await peers
        .ask<EngineRecord | null>(uuid, 'engine/record', null, noticeMs)
        .catch(() => null);
      if (record === null) continue;
      this.#follow(record);
      return;
    }
  }

  #follow(record: EngineRecord): void {
    const { membership, secrets, log } = this.#deps;
    const { engineTransfer } = membership;
    if (
      engineTransfer === null ||
      this.#isFollowing ||
      membership.isFounder ||
      membership.natsSource() !== null
    )
      return;
    this.#isFollowing = true;
    const source = JSON.parse(secrets.open(engineSecret, record.source)) as NatsSource;
    engineTransfer
      .useServers(this.#parameters(source))
      .then(() => log.info('engine.followed', { nodes: record.nodes }))
      .catch((error: Error) => log.error('engine.not_followed', { reason: error.message }))
      .finally(() => {
        this.#isFollowing = false;
      });
  }

  #parameters(nats: NatsSource): NatsJoinParameters {
    const { view, membership, certificates } = this.#deps;
    const credentials = certificates.ownCredentials();
    if (credentials === null) throw new Error('this node has no certificate of the cluster');
    const clusterKey = Buffer.from(membership.clusterKey()).toString('base64');
    return { clusterUuid: view.cluster.uuid, clusterKey, credentials, nats };
  }
}
