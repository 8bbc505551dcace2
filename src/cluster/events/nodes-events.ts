// Events of all nodes. Each node stores its own; a read asks the others, each with a deadline.
import type { NodeState } from '../config/cluster-state.ts';
import type { Peers } from '../peers/peers.ts';
import { eventKinds, isEventName } from './event-kinds.ts';
import type { EventLog, EventQuery, EventRecord } from './event-log.ts';
import { inOrder } from './event-order.ts';

export interface WantedEvents extends Pick<EventQuery, 'sinceMs' | 'limit'> {
  /** Whether the caller may see confidential events. */
  readonly seesAll: boolean;
}

export interface NodesEventsDeps {
  readonly events: Pick<EventLog, 'read'>;
  readonly peers: Pick<Peers, 'ask' | 'answer'>;
  /** The nodes of the cluster, this one included. */
  readonly nodes: () => readonly NodeState[];
  readonly nodeId: string;
}

/** A node that does not answer in this time is left out. */
const askTimeoutMs = 2_000;

export class NodesEvents {
  readonly #deps: NodesEventsDeps;

  constructor(deps: NodesEventsDeps) {
    this.#deps = deps;
    deps.peers.answer('events', (wanted: WantedEvents) => this.#own(wanted));
  }

  /** Resolves with the oldest event first: the first ones since a time, else the newest. */
  async read(wanted: WantedEvents): Promise<EventRecord[]> {
    const { nodes, nodeId } = this.#deps;
    const others = nodes().filter(({ uuid }) => uuid !== nodeId);
    const found = await Promise.all([
      this.#own(wanted),
      ...others.map(({ uuid }) => this.#eventsOf(uuid, wanted).catch(() => [])),
    ]);
    const ordered = inOrder(found);
    return wanted.sinceMs === undefined ? ordered.slice(-wanted.limit) : ordered.slice(0, wanted.limit);
  }

  #own({ sinceMs, limit, seesAll }: WantedEvents): Promise<EventRecord[]> {
    return this.#deps.events.read({ sinceMs, limit, isVisible: visibleTo(seesAll) });
  }

  /** The events of another node, without those of a newer version that this node does not know. */
  async #eventsOf(uuid: string, wanted: WantedEvents): Promise<EventRecord[]> {
    const records = await this.#deps.peers.ask<EventRecord[]>(uuid, 'events', wanted, askTimeoutMs);
    return records.filter(({ name }) => isEventName(name));
  }
}

export const visibleTo =
  (seesAll: boolean) =>
  ({ name }: EventRecord): boolean =>
    seesAll || !eventKinds[name].confidential;
