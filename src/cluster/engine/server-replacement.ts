// If a node that runs a NATS server of the configuration was failed over or leaves the cluster, starts a server on another node in its place. Then
// removes the servers that no node runs any more from the group of servers: until then they count for its majority, so that the loss of one more
// server could stop all changes.
import type { SecretBox } from '#auth/secret-box.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import type { Random } from '#ports/random.ts';
import type { ConfigStore, Entry } from '#replog/config-store.ts';
import type { IssueCertificates } from '../certificates/issue.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import type { EngineRecord, NodeMembership, ServerTask } from '../joining/join-messages.ts';
import { nodeAddressOf } from '../peers/inter-node.ts';
import type { Peers } from '../peers/peers.ts';
import { engineKey, engineRecordOf, serversIn } from './engine-record.ts';
import { type ServerOffers, takenPorts } from './server-offers.ts';
import { planReplacement, type ServerCluster, serverSourceOf, systemSourceOf } from './server-plan.ts';

export interface ServerReplacementDeps {
  view: Pick<ClusterView, 'activeNodes'>;
  store: ConfigStore;
  identity: NodeIdentity;
  membership: Pick<NodeMembership, 'engineTransfer' | 'natsSource'>;
  offers: ServerOffers;
  secrets: SecretBox;
  peers: Pick<Peers, 'ask' | 'answer'>;
  issue: IssueCertificates;
  random: Random;
  clock: Clock;
  log: Log;
}

const checkEveryMs = 5_000;
/** The time between checks of the group, each of which asks all servers. */
const groupMs = 60_000;
/** The pause after an attempt that failed. */
const retryPauseMs = 30_000;
/** A new server that the record does not name after this time will not be used. */
const recordedMs = 180_000;
/** The time limit for another node to start a server. */
const runMs = 60_000;
/** The time limit for another node to name its server. */
const askTimeoutMs = 5_000;

interface Replacement {
  readonly isDone: boolean;
  /** Where it is not done: why another attempt may succeed; absent: no node can run a server. */
  readonly obstacle?: string;
}

const changed: Replacement = { isDone: false, obstacle: 'the servers have just changed' };

export class ServerReplacement {
  readonly #deps: ServerReplacementDeps;
  readonly #checks: PeriodicTask;
  /** When the next server may be replaced. */
  #replaceAtMs = -Infinity;
  /** When the group is checked next. */
  #groupAtMs = -Infinity;
  /** When this node last started a server. */
  #ranAtMs = -Infinity;

  constructor(deps: ServerReplacementDeps) {
    this.#deps = deps;
    const { clock, log, membership, peers } = deps;
    this.#checks = new PeriodicTask({
      everyMs: checkEveryMs,
      clock,
      onError: (error) => log.warn('engine.servers_not_checked', { reason: error.message }),
    });
    peers.answer('engine/server', () => membership.engineTransfer?.serverName() ?? null);
    peers.answer('engine/replace', (task: ServerTask) => this.#run(task));
  }

  start(): void {
    if (this.#deps.membership.engineTransfer !== null) this.#checks.start(() => this.#check());
  }

  stop(): Promise<void> {
    return this.#checks.stop();
  }

  /**
   * Starts a server in place of that of the node `lost`, on the first node that can start one, has none and is not among `leaving`. Rejects where
   * all that offer to run one fail.
   */
  async replace(lost: string, leaving: readonly NodeState[] = []): Promise<Replacement> {
    const { log, offers, secrets, store, view } = this.#deps;
    const entry = await store.get<EngineRecord>(engineKey);
    const servers = entry && serversIn(entry.value, secrets);
    if (!entry || !servers) return { isDone: false };
    if (!servers.places.some(({ nodeId }) => nodeId === lost)) return changed;
    let failure: unknown = null;
    let silence: string | undefined;
    for (const node of view.activeNodes) {
      if (entry.value.nodes.includes(node.uuid) || leaving.some(({ uuid }) => uuid === node.uuid)) continue;
      const { host } = nodeAddressOf(node);
      const offer = await offers.answerOf(node, takenPorts(host, servers.places)).catch((error: Error) => {
        silence = error.message;
        return null;
      });
      if (offer === null) continue;
      const place = { nodeId: node.uuid, host, ...offer };
      const { task, servers: next } = await planReplacement(servers, { lost, place }, this.#deps);
      try {
        await this.#startOn(node.uuid, task);
      } catch (error) {
        log.warn('engine.server_not_started', { node: node.otpNode, reason: (error as Error).message });
        failure = error;
        continue;
      }
      if (!(await this.#recordServers(entry, next))) return changed;
      log.info('engine.server_replaced', { lost, node: node.otpNode });
      this.#groupAtMs = -Infinity;
      return { isDone: true };
    }
    if (failure !== null) throw failure;
    return { isDone: false, ...(silence !== undefined && { obstacle: silence }) };
  }

  async #startOn(nodeId: string, task: ServerTask): Promise<void> {
    const { identity, peers } = this.#deps;
    if (nodeId === identity.nodeId) await this.#run(task);
    else await peers.ask(nodeId, 'engine/replace', task, runMs);
  }

  /** Resolves with whether the record names the new server. A server that the record does not name is removed again. */
  async #recordServers(entry: Entry<EngineRecord>, servers: ServerCluster): Promise<boolean> {
    const { secrets, store } = this.#deps;
    // A newer node may have added fields to the record.
    const record = { ...entry.value, ...engineRecordOf(servers, secrets) };
    return (await store.put(engineKey, record, entry.revision)) !== null;
  }

  async #run(task: ServerTask): Promise<void> {
    const { clock, identity, membership, store } = this.#deps;
    const record = (await store.get<EngineRecord>(engineKey))?.value;
    if (record?.nodes.includes(identity.nodeId) !== false) throw new Error('this node has a server already');
    this.#ranAtMs = clock.monotonicMs();
    await membership.engineTransfer?.runServer(task);
  }

  async #check(): Promise<void> {
    const { clock, identity, secrets, store } = this.#deps;
    const record = (await store.get<EngineRecord>(engineKey))?.value;
    const servers = record && serversIn(record, secrets);
    if (!record || !servers) return;
    this.#followSource(servers);
    if (!record.nodes.includes(identity.nodeId)) await this.#removeOwn();
    if (record.nodes.find((id) => this.#isActive(id)) !== identity.nodeId) return;
    const lost = record.nodes.find((id) => !this.#isActive(id));
    const now = clock.monotonicMs();
    if (lost !== undefined && now >= this.#replaceAtMs) {
      this.#replaceAtMs = now + retryPauseMs;
      await this.replace(lost);
    } else if (lost === undefined && now >= this.#groupAtMs) {
      this.#groupAtMs = now + groupMs;
      if (!(await this.#removeLost(record, servers))) this.#groupAtMs = now;
    }
  }

  #isActive(id: string): boolean {
    return this.#deps.view.activeNodes.some(({ uuid }) => uuid === id);
  }

  /** At its next start this node looks for the servers that there are now. */
  #followSource(servers: ServerCluster): void {
    const { log, membership } = this.#deps;
    const source = serverSourceOf(servers);
    const known = membership.natsSource();
    if (known === null || known.servers === source.servers) return;
    membership.engineTransfer?.sourceChanged(source);
    log.info('engine.servers_changed', { nodes: servers.places.map(({ nodeId }) => nodeId) });
  }

  /** Removes this node's server: another node has its place. */
  async #removeOwn(): Promise<void> {
    const { clock, log, membership } = this.#deps;
    const { engineTransfer } = membership;
    if (!engineTransfer?.serverName() || clock.monotonicMs() - this.#ranAtMs < recordedMs) return;
    await engineTransfer.removeServer();
    log.info('engine.own_server_removed', {});
  }

  /** False: not all servers that nodes run belong to the group yet. */
  async #removeLost({ nodes }: EngineRecord, servers: ServerCluster): Promise<boolean> {
    const { log, membership } = this.#deps;
    const names = await Promise.all(nodes.map((id) => this.#nameOn(id)));
    const group = membership.engineTransfer?.groupOf(systemSourceOf(servers));
    const members = (await group?.members()) ?? [];
    const isCurrentMember = (name: string | null): boolean =>
      members.some((member) => member.name === name && member.isCurrent);
    if (!names.every(isCurrentMember)) return false;
    for (const { id, name } of members) {
      if (names.includes(name)) continue;
      await group?.remove(id);
      log.info('engine.server_removed', { server: name });
    }
    return true;
  }

  async #nameOn(node: string): Promise<string | null> {
    const { identity, membership, peers } = this.#deps;
    if (node === identity.nodeId) return membership.engineTransfer?.serverName() ?? null;
    return await peers.ask<string | null>(node, 'engine/server', null, askTimeoutMs);
  }
}
