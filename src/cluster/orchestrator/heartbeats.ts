// Which nodes are alive, by heartbeats between the managers and not through the configuration store. Each node says in its heartbeats
// whom it hears, so that a node that others still reach does not look dead because of one broken connection.
import type { Clock, Timer } from '#ports/clock.ts';
import type { StoreTerm } from '#replog/mirror/config-link.ts';

const beatMs = 1_000;
/** Without a heartbeat for this long, a node counts as not heard. */
export const silenceMs = 3_000;

/** What a node sends to all others. */
export interface Heartbeat {
  /** Ids of the nodes that the sender hears. */
  readonly hears: readonly string[];
  /** How long ago the sender heard each other node, so that all measure the same silence. */
  readonly agesMs?: Readonly<Record<string, number>>;
  /** The founder's port between nodes: it may have changed while the founder was away. */
  readonly founderPort?: number;
  /** Which founder the sender is, or follows; absent in older versions. */
  readonly storeTerm?: StoreTerm;
  /** For how long the sender's disk has failed. */
  readonly diskFailsMs?: number;
}

export interface HeartbeatsDeps {
  /** Id of the node that runs this process. */
  nodeId: string;
  /** Ids of all nodes of the cluster. */
  nodes: () => readonly string[];
  /** Sends without waiting for an answer; a message may get lost. */
  send: (to: string, heartbeat: Heartbeat) => void;
  /** For how long this node's own disk has failed; 0: it works. */
  diskFailsMs?: () => number;
  clock: Clock;
  /** Called after each beat. */
  beat?: () => void;
}

/** What the last heartbeat of a node said. */
interface Heard {
  readonly atMs: number;
  readonly hears: ReadonlySet<string>;
  readonly agesMs: Readonly<Record<string, number>>;
  readonly diskFailsMs: number;
}

export class Heartbeats {
  readonly #deps: HeartbeatsDeps;
  readonly #heard = new Map<string, Heard>();
  #startedMs = 0;
  #timer: Timer | null = null;

  constructor(deps: HeartbeatsDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#startedMs = this.#deps.clock.monotonicMs();
    this.#beat();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Takes a heartbeat of another node. */
  received(from: string, { hears, agesMs = {}, diskFailsMs = 0 }: Heartbeat): void {
    if (!this.#deps.nodes().includes(from)) return;
    const atMs = this.#deps.clock.monotonicMs();
    this.#heard.set(from, { atMs, agesMs, diskFailsMs, hears: new Set(hears) });
  }

  /** Whether this node gets heartbeats of that node. For `silenceMs` after the start of this node all count as heard. */
  hears(node: string): boolean {
    const { nodeId, clock } = this.#deps;
    return node === nodeId || clock.monotonicMs() - this.#lastMs(node) < silenceMs;
  }

  /** Whether neither this node nor any node that it hears gets heartbeats of that node. */
  isDown(node: string): boolean {
    if (this.hears(node)) return false;
    return !this.#deps.nodes().some((other) => this.hears(other) && this.#heard.get(other)?.hears.has(node));
  }

  /** The time since the last heartbeat of that node to this one, or to another that reported it. */
  silentMs(node: string): number {
    if (node === this.#deps.nodeId) return 0;
    const nowMs = this.#deps.clock.monotonicMs();
    const reported = [...this.#heard.values()].flatMap(({ atMs, agesMs }) =>
      agesMs[node] === undefined ? [] : [atMs - agesMs[node]],
    );
    return nowMs - Math.max(this.#lastMs(node), ...reported);
  }

  /** For how long the disk of that node has failed, as it last reported; 0: it works. */
  diskFailsMs(node: string): number {
    return this.#heard.get(node)?.diskFailsMs ?? 0;
  }

  #lastMs(node: string): number {
    return this.#heard.get(node)?.atMs ?? this.#startedMs;
  }

  #beat(): void {
    const { nodes, nodeId, send, clock, beat } = this.#deps;
    const diskFailsMs = this.#deps.diskFailsMs?.() ?? 0;
    const others = nodes().filter((id) => id !== nodeId);
    for (const known of this.#heard.keys()) if (!others.includes(known)) this.#heard.delete(known);
    const hears = others.filter((id) => this.#heard.has(id) && this.hears(id));
    const agesMs = Object.fromEntries(
      [...this.#heard].map(([id, { atMs }]) => [id, clock.monotonicMs() - atMs]),
    );
    for (const other of others) send(other, { hears, agesMs, ...(diskFailsMs > 0 && { diskFailsMs }) });
    beat?.();
    this.#timer = clock.after(beatMs, () => this.#beat());
  }
}
