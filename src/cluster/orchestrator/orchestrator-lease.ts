// Which node is the orchestrator. The orchestrator writes the key `orchestrator` each second; another active node takes the key over once it
// has seen no change of the key for some seconds on its own clock. Each take-over raises the term, which fences the plans of earlier
// orchestrators. Two orchestrators that act at once do no harm to documents: each of their steps is a compare-and-set.
import type { Clock, Timer } from '#ports/clock.ts';
import type { ConfigStore, Entry } from '#replog/config-store.ts';
import type { NodeIdentity } from '../config/node-identity.ts';

export const orchestratorKey = 'orchestrator';

const renewEveryMs = 1_000;
/** Without a change for this long, the key may be taken over. */
export const leaseMs = 5_000;
/** If the key names a node that has left the cluster, it may be taken over after this long: as in published servers, the orchestrator is unknown meanwhile. */
export const vacancyMs = 10_000;

/** The term of a node that is alone, which takes no lease. */
export const aloneTerm = 0;

export interface OrchestratorState {
  readonly node: string;
  readonly boot: string;
  readonly term: number;
}

export interface LeaseDeps {
  store: ConfigStore;
  identity: NodeIdentity;
  clock: Clock;
  /** Ids of the nodes with membership `active`; this node may be among them. */
  activeNodes: () => readonly string[];
  /** The cluster has no other node: then this one is the orchestrator without any write. */
  isAlone: () => boolean;
  /** Called when this node becomes the orchestrator, or is no longer. */
  changed?: () => void;
}

/** The key as this node saw it last. */
interface Seen {
  readonly revision: number;
  readonly value: OrchestratorState;
  readonly seenMs: number;
  /** Since when answered calls prove that the key has not changed. */
  sinceMs: number;
}

export class OrchestratorLease {
  readonly #deps: LeaseDeps;
  #seen: Seen | null = null;
  /** When this node sent its last successful write of the key. */
  #heldSinceMs: number | null = null;
  #term: number | null = null;
  #timer: Timer | null = null;
  #isStopped = false;

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#isStopped = false;
    this.#wait();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** The term in which this node acts as orchestrator; null: it does not. A node that is alone acts in `aloneTerm`. */
  get term(): number | null {
    if (this.#deps.isAlone()) return aloneTerm;
    const { clock } = this.#deps;
    const isHeld = this.#heldSinceMs !== null && clock.monotonicMs() - this.#heldSinceMs < leaseMs;
    return isHeld ? this.#term : null;
  }

  /** Id of the node that is the orchestrator, as far as this node knows; null where it does not. */
  get holder(): string | null {
    const { identity, clock, activeNodes, isAlone } = this.#deps;
    if (isAlone()) return identity.nodeId;
    if (this.#seen === null || clock.monotonicMs() - this.#seen.seenMs >= vacancyMs) return null;
    const { node } = this.#seen.value;
    return activeNodes().includes(node) ? node : null;
  }

  #wait(): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(renewEveryMs, () => void this.#round());
  }

  async #round(): Promise<void> {
    const before = this.term;
    try {
      if (!this.#deps.isAlone()) await this.#renewOrTake();
    } catch {
      // No answer, or an unknown outcome: the time without a change starts again, since only answered calls prove that there was none.
      if (this.#seen) this.#seen.sinceMs = this.#deps.clock.monotonicMs();
    }
    if (this.term !== before) this.#deps.changed?.();
    if (!this.#isStopped) this.#wait();
  }

  async #renewOrTake(): Promise<void> {
    const { store, identity, activeNodes } = this.#deps;
    const entry = await store.get<OrchestratorState>(orchestratorKey);
    this.#see(entry);
    if (!activeNodes().includes(identity.nodeId)) return this.#lose();
    const isOwn = entry?.value.node === identity.nodeId && entry.value.boot === identity.bootId;
    if (!isOwn) this.#lose();
    if (entry === null || isOwn) await this.#write(entry?.value.term ?? 1, entry?.revision ?? 0);
    else if (this.#hasExpired()) await this.#write(entry.value.term + 1, entry.revision);
  }

  #see(entry: Entry<OrchestratorState> | null): void {
    if (entry === null || entry.revision === this.#seen?.revision) return;
    const { value, revision } = entry;
    const nowMs = this.#deps.clock.monotonicMs();
    this.#seen = { value, revision, seenMs: nowMs, sinceMs: nowMs };
  }

  #hasExpired(): boolean {
    if (this.#seen === null) return false;
    const { clock, activeNodes } = this.#deps;
    const limitMs = activeNodes().includes(this.#seen.value.node) ? leaseMs : vacancyMs;
    return clock.monotonicMs() - this.#seen.sinceMs >= limitMs;
  }

  async #write(term: number, expectedRevision: number): Promise<void> {
    const { store, identity, clock } = this.#deps;
    const sentMs = clock.monotonicMs();
    const value: OrchestratorState = { node: identity.nodeId, boot: identity.bootId, term };
    const revision = await store.put(orchestratorKey, value, expectedRevision);
    if (revision === null) return this.#lose();
    const nowMs = clock.monotonicMs();
    this.#seen = { value, revision, seenMs: nowMs, sinceMs: nowMs };
    this.#heldSinceMs = sentMs;
    this.#term = term;
  }

  #lose(): void {
    this.#heldSinceMs = null;
    this.#term = null;
  }
}
