// Support bundles at the request of another node: asks other nodes to write theirs, and writes this node's when another node asks.
import { untilAborted } from '#ports/within.ts';
import type { Peers } from '../peers/peers.ts';
import type { RedactionLevel } from './log-collection.contract.ts';

export interface WantedBundle {
  readonly id: string;
  readonly startedMs: number;
  /** Null: the default folder. */
  readonly logDir: string | null;
  readonly redaction: RedactionLevel;
  readonly salt: string;
  readonly auditLog: boolean;
}

/** Writes this node's bundle and resolves with its path. */
type WriteBundle = (wanted: WantedBundle, signal: AbortSignal) => Promise<string>;

/** A node that does not answer a ping in this time is reported, and not asked for a bundle. */
const pingMs = 5_000;
/** The time in which a node must write its bundle. */
const writeMs = 600_000;

export class NodeBundles {
  readonly #peers: Pick<Peers, 'ask' | 'answer'>;
  readonly #write: WriteBundle;
  /** By id: bundles that this node writes for others. */
  readonly #running = new Map<string, AbortController>();

  constructor(peers: Pick<Peers, 'ask' | 'answer'>, write: WriteBundle) {
    this.#peers = peers;
    this.#write = write;
    peers.answer('logs/collect', (wanted: WantedBundle) => this.#writeFor(wanted));
    peers.answer('logs/cancel', ({ id }: Pick<WantedBundle, 'id'>) => this.#running.get(id)?.abort());
  }

  /** Resolves with the path on the other node. @throws Error when that node does not answer, or cannot write the bundle */
  async collect(nodeId: string, wanted: WantedBundle, signal: AbortSignal): Promise<string> {
    const { id } = wanted;
    await untilAborted(signal, this.#peers.ask(nodeId, 'ping', null, pingMs));
    const cancel = (): void => void this.#peers.ask(nodeId, 'logs/cancel', { id }, pingMs).catch(() => {});
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await untilAborted(signal, this.#peers.ask<string>(nodeId, 'logs/collect', wanted, writeMs));
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  async #writeFor(wanted: WantedBundle): Promise<string> {
    const cancel = new AbortController();
    this.#running.set(wanted.id, cancel);
    try {
      return await this.#write(wanted, cancel.signal);
    } finally {
      this.#running.delete(wanted.id);
    }
  }
}
