// Which nodes can run a server of the configuration, and on which ports.
import type { Log } from '#ports/log.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import type { NodeMembership, ServerPlace } from '../joining/join-messages.ts';
import type { Peers } from '../peers/peers.ts';

export interface ServerOffersDeps {
  identity: NodeIdentity;
  membership: Pick<NodeMembership, 'engineTransfer'>;
  peers: Pick<Peers, 'ask' | 'answer'>;
  log: Log;
}

export type ServerPorts = Pick<ServerPlace, 'port' | 'routePort'>;

interface OfferRequest {
  /** Ports of other servers on the same machine. */
  readonly taken: readonly number[];
}

const offerTimeoutMs = 10_000;

export class ServerOffers {
  readonly #deps: ServerOffersDeps;

  constructor(deps: ServerOffersDeps) {
    this.#deps = deps;
    deps.peers.answer('engine/offer', ({ taken }: OfferRequest) => this.#own(taken));
  }

  /** Null: the node cannot run one, or does not answer. */
  async offerOf(node: NodeState, taken: readonly number[]): Promise<ServerPorts | null> {
    try {
      return await this.answerOf(node, taken);
    } catch {
      return null;
    }
  }

  /** Null: the node cannot run one. Rejects where it does not answer. */
  async answerOf({ uuid, otpNode }: NodeState, taken: readonly number[]): Promise<ServerPorts | null> {
    const { identity, peers, log } = this.#deps;
    try {
      if (uuid === identity.nodeId) return await this.#own(taken);
      return await peers.ask(uuid, 'engine/offer', { taken } satisfies OfferRequest, offerTimeoutMs);
    } catch (error) {
      log.warn('engine.no_server_there', { node: otpNode, reason: (error as Error).message });
      throw error;
    }
  }

  async #own(taken: readonly number[]): Promise<ServerPorts | null> {
    return (await this.#deps.membership.engineTransfer?.offer(taken)) ?? null;
  }
}

/** Ports of the servers that are on that machine. */
export const takenPorts = (host: string, places: readonly ServerPlace[]): number[] =>
  places.flatMap((place) => (place.host === host ? [place.port, place.routePort] : []));
