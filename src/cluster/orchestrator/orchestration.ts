// This node's part in the orchestration of its cluster: the lease, heartbeats, and, while this node is the orchestrator, rebalances and
// automatic failovers. The only node of a cluster runs none of this.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { StoreTerm } from '#replog/mirror/config-link.ts';
import type { AlertSink } from '../alerts/alerts.service.ts';
import type { PeerHealth } from '../alerts/peer-checks.ts';
import { FailoverSettingsService } from '../auto-failover/auto-failover.service.ts';
import { ClusterStore } from '../config/cluster.store.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService } from '../config/data-service.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import { SettingsStore } from '../config/settings.store.ts';
import type { Events } from '../events/events.feature.ts';
import { internalSettings } from '../internal-settings/internal-settings.ts';
import type { NodeMembership } from '../joining/join-messages.ts';
import { AutoFailover } from './auto-failover.ts';
import { CopyPositions, type CopyPositionsDeps } from './copy-positions.ts';
import { DiskHealth } from './disk-health.ts';
import { type Heartbeat, Heartbeats } from './heartbeats.ts';
import { OrchestratorLease } from './orchestrator-lease.ts';
import { rebalanceEnded } from './rebalance-ended.ts';
import { RebalanceRetries, retryDefaults, retrySetting } from './rebalance-retry.ts';
import { Rebalancer } from './rebalancer.ts';

const heartbeatTimeoutMs = 2_000;

/** Requests between managers. */
export interface HeartbeatLinks {
  ask(nodeId: string, name: string, body: unknown, timeoutMs: number): Promise<unknown>;
  answer<Body>(name: string, answer: (body: Body, from: string) => unknown): void;
}

/** Which founder this node is, or follows. Each heartbeat carries it, and the answer to a heartbeat with an earlier one names the later one. */
interface FounderTerms {
  readonly head: StoreTerm;
  noticeFor(term: StoreTerm | undefined): unknown;
  noticed(notice: unknown): void;
}

export interface OrchestrationDeps {
  store: ConfigStore;
  identity: NodeIdentity;
  view: ClusterView;
  peers: HeartbeatLinks;
  events: Events['log'];
  alerts: AlertSink;
  data: Pick<DataService, 'measured'> & CopyPositionsDeps['data'];
  /** Absent: this node cannot be a member. */
  membership?: Pick<NodeMembership, 'founderMoved'> | undefined;
  founderChange: FounderTerms;
  random: Random;
  clock: Clock;
  log: Log;
}

export class Orchestration {
  readonly #deps: OrchestrationDeps;
  readonly #lease: OrchestratorLease;
  readonly #heartbeats: Heartbeats;
  readonly #rebalancer: Rebalancer;
  readonly #autoFailover: AutoFailover;
  readonly #retries: RebalanceRetries;
  #watch: { stop(): void } | null = null;
  #isRunning = false;
  /** The founder's port in its last heartbeat. */
  #knownPort: number | null = null;

  constructor(deps: OrchestrationDeps) {
    this.#deps = deps;
    const { view, identity, peers } = deps;
    const isAlone = () => view.cluster.nodes.length === 1;
    this.#lease = new OrchestratorLease({
      ...deps,
      isAlone,
      activeNodes: () => view.activeNodes.map(({ uuid }) => uuid),
      changed: () => this.wake(),
    });
    const disk = new DiskHealth(deps);
    this.#heartbeats = new Heartbeats({
      nodeId: identity.nodeId,
      clock: deps.clock,
      diskFailsMs: () => disk.failsMs(),
      nodes: () => view.cluster.nodes.map(({ uuid }) => uuid),
      // Errors are ignored: the other node detects missing heartbeats.
      send: (to, heartbeat) => {
        const { epoch, founder } = deps.founderChange.head;
        const sent: Heartbeat = {
          ...heartbeat,
          ...this.#founderPort(),
          storeTerm: { ...(epoch !== undefined && { epoch }), ...(founder !== undefined && { founder }) },
        };
        const answered = peers.ask(to, 'heartbeat', sent, heartbeatTimeoutMs);
        answered.then((notice) => deps.founderChange.noticed(notice)).catch(() => {});
      },
    });
    peers.answer('heartbeat', (heartbeat: Heartbeat, from) => {
      this.#received(heartbeat, from);
      return deps.founderChange.noticeFor(heartbeat.storeTerm);
    });
    const isDown = (node: string) => this.#heartbeats.isDown(node);
    const positions = new CopyPositions({ ...deps, ...identity, isDown });
    this.#rebalancer = new Rebalancer({
      ...deps,
      term: () => this.#lease.term,
      isDown,
      copies: (bucket, map, failed) => positions.statesAfter(bucket, map, failed),
      completing: (plan) => this.#autoFailover.completing(plan),
      failovers: () => new FailoverSettingsService(new SettingsStore(deps.store)).totalFailovers(),
      ended: (end) => {
        rebalanceEnded(end, deps.store, deps.events);
        this.#autoFailover.ended(end);
      },
      retries: () => view.setting(retrySetting, retryDefaults),
      movesPerNode: () => internalSettings(view).rebalanceMovesPerNode,
    });
    this.#autoFailover = this.#createAutoFailover();
    this.#retries = new RebalanceRetries({
      ...deps,
      cluster: new ClusterStore(deps.store, identity.nodeId),
      term: () => this.#lease.term,
      settings: () => view.setting(retrySetting, retryDefaults),
      planned: () => this.wake(),
    });
  }

  #received(heartbeat: Heartbeat, from: string): void {
    this.#heartbeats.received(from, heartbeat);
    const { founderPort } = heartbeat;
    const { view, membership } = this.#deps;
    if (founderPort === undefined || from !== view.cluster.founder || founderPort === this.#knownPort) return;
    membership?.founderMoved(founderPort);
    // Set last: if `founderMoved` fails, a later heartbeat stores the port.
    this.#knownPort = founderPort;
  }

  /** The founder's heartbeats name the port at which it serves the configuration. */
  #founderPort(): { founderPort?: number } {
    const { view, identity } = this.#deps;
    return view.cluster.founder === identity.nodeId ? { founderPort: view.self.ports.distTLS } : {};
  }

  #createAutoFailover(): AutoFailover {
    const { identity, store, events, alerts } = this.#deps;
    return new AutoFailover({
      ...this.#deps,
      heartbeats: this.#heartbeats,
      cluster: new ClusterStore(store, identity.nodeId),
      settings: new FailoverSettingsService(new SettingsStore(store)),
      term: () => this.#lease.term,
      planned: () => this.wake(),
      report({ kind, text }) {
        alerts.raise({ kind, text });
        events.record('auto_failover', { kind, text });
      },
    });
  }

  /** Call once the configuration has been read. */
  start(): void {
    this.#watch = this.#deps.view.onChange(() => this.#follow());
    this.#rebalancer.start();
    this.#follow();
  }

  stop(): void {
    this.#watch?.stop();
    this.#rebalancer.stop();
    this.#pause();
  }

  /** Makes the orchestrator check for work now. */
  wake(): void {
    this.#rebalancer.wake();
  }

  /** Whether this node recently got a heartbeat of that node. */
  receivesFrom(node: string): boolean {
    return this.#heartbeats.receivesFrom(node);
  }

  /** Whether neither this node nor any node whose heartbeats it receives gets heartbeats of that node. */
  isDown(nodeId: string): boolean {
    return this.#heartbeats.isDown(nodeId);
  }

  /** The time since the last heartbeat of that node to this one, or to another that reported it. */
  silentMs(nodeId: string): number {
    return this.#heartbeats.silentMs(nodeId);
  }

  /** The connections to the other nodes, and their clocks. */
  get peerHealth(): PeerHealth[] {
    const { view, identity } = this.#deps;
    return view.cluster.nodes
      .filter(({ uuid }) => uuid !== identity.nodeId)
      .map(({ otpNode, uuid }) => ({
        name: otpNode,
        skewMs: this.#heartbeats.skewMs(uuid),
        cutOffMs: this.#heartbeats.cutOffMs(uuid),
      }));
  }

  /** The name of the orchestrator's node; null where it is not known. */
  get orchestrator(): string | null {
    const { holder } = this.#lease;
    return this.#deps.view.cluster.nodes.find(({ uuid }) => uuid === holder)?.otpNode ?? null;
  }

  #follow(): void {
    const isAlone = this.#deps.view.cluster.nodes.length === 1;
    if (isAlone) this.#pause();
    else this.#run();
  }

  #run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#lease.start();
    this.#heartbeats.start();
    this.#autoFailover.start();
    this.#retries.start();
  }

  #pause(): void {
    this.#isRunning = false;
    this.#lease.stop();
    this.#heartbeats.stop();
    this.#autoFailover.stop();
    this.#retries.stop();
  }
}
