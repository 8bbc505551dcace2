// Detects which nodes run, by heartbeats that the managers send each other without the configuration store. Each node lists in its heartbeats
// the nodes whose heartbeats it receives, so that one broken connection does not make a node look dead that others still reach.
import type { Clock, Timer } from '#ports/clock.ts';
import type { StoreTerm } from '#replog/mirror/config-link.ts';

const heartbeatEveryMs = 1_000;
/** Without a heartbeat for this long, a node counts as unreachable. */
export const silentAfterMs = 3_000;

/** The skews of this number of heartbeats are compared: one delayed heartbeat makes a clock look late. */
const skewsKept = 5;

/** What a node sends to all others. */
export interface Heartbeat {
  /** Ids of the nodes whose heartbeats the sender receives. */
  readonly hears: readonly string[];
  /** How long ago the sender received a heartbeat of each other node, so that all measure the same time. */
  readonly agesMs?: Readonly<Record<string, number>>;
  /** The founder's port between nodes: it may have changed while the founder was unreachable. */
  readonly founderPort?: number;
  /** Which founder the sender is, or follows; absent in older versions. */
  readonly storeTerm?: StoreTerm;
  /** For how long the sender's disk has failed. */
  readonly diskFailsMs?: number;
  /** The sender's clock, in milliseconds since 1970; absent in older versions. */
  readonly wallMs?: number;
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
  /** Called each time that the heartbeats to all other nodes have been sent. */
  beat?: () => void;
}

/** The last heartbeat of a node. */
interface ReceivedHeartbeat {
  readonly atMs: number;
  readonly hears: ReadonlySet<string>;
  readonly agesMs: Readonly<Record<string, number>>;
  readonly diskFailsMs: number;
  /** How far the clock of the node was ahead of this node's, at the last heartbeats. */
  readonly skewsMs: readonly number[];
}

export class Heartbeats {
  readonly #deps: HeartbeatsDeps;
  readonly #latest = new Map<string, ReceivedHeartbeat>();
  #startedMs = 0;
  #timer: Timer | null = null;

  constructor(deps: HeartbeatsDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#startedMs = this.#deps.clock.monotonicMs();
    // Heartbeats from before a stop, of a node that left and was added again for example, would make the node look dead.
    this.#latest.clear();
    this.#beat();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Takes a heartbeat of another node. */
  received(from: string, { hears, agesMs = {}, diskFailsMs = 0, wallMs }: Heartbeat): void {
    const { clock, nodes } = this.#deps;
    if (!nodes().includes(from)) return;
    const earlier = this.#latest.get(from)?.skewsMs ?? [];
    const skewsMs = wallMs === undefined ? [] : [...earlier, wallMs - clock.wallMs()].slice(-skewsKept);
    this.#latest.set(from, {
      atMs: clock.monotonicMs(),
      agesMs,
      diskFailsMs,
      skewsMs,
      hears: new Set(hears),
    });
  }

  /** Whether this node receives heartbeats of that node. For `silentAfterMs` after the start of this node all count as received. */
  receivesFrom(node: string): boolean {
    const { nodeId, clock } = this.#deps;
    return node === nodeId || clock.monotonicMs() - this.#lastMs(node) < silentAfterMs;
  }

  /** Whether neither this node nor any node whose heartbeats it receives gets heartbeats of that node. */
  isDown(node: string): boolean {
    if (this.receivesFrom(node)) return false;
    return !this.#deps
      .nodes()
      .some((other) => this.receivesFrom(other) && this.#latest.get(other)?.hears.has(node));
  }

  /** The time since the last heartbeat of that node to this one, or to another that reported it. */
  silentMs(node: string): number {
    if (node === this.#deps.nodeId) return 0;
    const nowMs = this.#deps.clock.monotonicMs();
    const reported = [...this.#latest.values()].flatMap(({ atMs, agesMs }) =>
      agesMs[node] === undefined ? [] : [atMs - agesMs[node]],
    );
    return nowMs - Math.max(this.#lastMs(node), ...reported);
  }

  /** For how long the disk of that node has failed, as it last reported; 0: it works. */
  diskFailsMs(node: string): number {
    if (node === this.#deps.nodeId) return this.#deps.diskFailsMs?.() ?? 0;
    return this.#latest.get(node)?.diskFailsMs ?? 0;
  }

  /** How far the clock of that node is ahead of this node's: the highest of the last values, since a delay of a heartbeat makes that clock look late. Null: too few are known. */
  skewMs(node: string): number | null {
    const skewsMs = this.#latest.get(node)?.skewsMs ?? [];
    if (skewsMs.length < skewsKept) return null;
    return Math.max(...skewsMs);
  }

  /** For how long this node has received no heartbeat of that node, though others do; 0: it receives them, or no node does. */
  cutOffMs(node: string): number {
    if (this.receivesFrom(node) || this.isDown(node)) return 0;
    return this.#deps.clock.monotonicMs() - this.#lastMs(node);
  }

  #lastMs(node: string): number {
    return this.#latest.get(node)?.atMs ?? this.#startedMs;
  }

  #beat(): void {
    const { nodes, nodeId, send, clock, beat } = this.#deps;
    const diskFailsMs = this.#deps.diskFailsMs?.() ?? 0;
    const others = nodes().filter((id) => id !== nodeId);
    for (const node of this.#latest.keys()) if (!others.includes(node)) this.#latest.delete(node);
    const hears = others.filter((id) => this.#latest.has(id) && this.receivesFrom(id));
    const agesMs = Object.fromEntries(
      [...this.#latest].map(([id, { atMs }]) => [id, clock.monotonicMs() - atMs]),
    );
    const wallMs = clock.wallMs();
    for (const other of others)
      send(other, { hears, agesMs, wallMs, ...(diskFailsMs > 0 && { diskFailsMs }) });
    beat?.();
    this.#timer = clock.after(heartbeatEveryMs, () => this.#beat());
  }
}
