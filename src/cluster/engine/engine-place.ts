// Sends the place of the configuration from node to node: a founder, or NATS servers that nodes run. A node that knows a new place sends it to all
// others, and to nodes that ask: those that cannot reach the place that they know, and a founder that another node may have replaced. The place with
// the highest epoch is the present one. The answer to a removed node says that it was removed, and has no place, since the record of the place has a login.
import type { SecretBox } from '#auth/secret-box.ts';
import type { Log } from '#ports/log.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { supersedes } from '#replog/mirror/config-link.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import type { FounderChange } from '../founder/founder-change.ts';
import type {
  EnginePlace,
  EngineRecord,
  EngineTransfer,
  LaterPlace,
  NatsJoinParameters,
  NatsSource,
  NodeMembership,
  PlaceRequest,
} from '../joining/join-messages.ts';
import { latestPlace } from '../joining/latest-place.ts';
import { laterPlaceRequest, nodeAddressOf } from '../peers/inter-node.ts';
import type { NodeCertificates } from '../peers/node-certificates.ts';
import type { Peers } from '../peers/peers.ts';
import { engineKey, engineSecret } from './engine-record.ts';

export interface EnginePlacesDeps {
  view: Pick<ClusterView, 'cluster' | 'revisionEpoch'>;
  store: Pick<ConfigStore, 'get' | 'problem'>;
  identity: NodeIdentity;
  membership: Pick<
    NodeMembership,
    'isFounder' | 'clusterKey' | 'engineTransfer' | 'founderTransfer' | 'natsSource'
  >;
  founderChange: Pick<FounderChange, 'noticeFor' | 'noticed'>;
  certificates: Pick<NodeCertificates, 'ownCredentials'>;
  secrets: SecretBox;
  peers: Pick<Peers, 'ask' | 'answer'>;
  log: Log;
}

/** The time limit of a message to another node. */
const noticeMs = 5_000;

export class EnginePlaces {
  readonly #deps: EnginePlacesDeps;
  #isFollowing = false;
  /** The nodes that have answered a request for the place, with a later one or none. */
  readonly #answered = new Set<string>();

  constructor(deps: EnginePlacesDeps) {
    this.#deps = deps;
    deps.peers.answer(laterPlaceRequest, (request: PlaceRequest, from) => this.#laterThan(request, from));
    deps.peers.answer('engine/moved', (place: EnginePlace) => this.#noticed(place));
  }

  /** Sends the place to the other nodes. A node that does not get the message asks for the place later. */
  async announce(): Promise<void> {
    const place = await this.#knownPlace();
    await Promise.allSettled(
      this.#others.map((id) => this.#deps.peers.ask(id, 'engine/moved', place, noticeMs)),
    );
  }

  /**
   * Asks the other nodes whether the configuration has moved, if this node cannot reach the place that it knows, or is the founder of the
   * cluster and may have been replaced.
   */
  async check(): Promise<void> {
    const isUnreachable = this.#isUnreachable;
    if (!isUnreachable && (!this.#deps.membership.isFounder || this.#hasMajorityAnswered)) return;
    const { cluster, revisionEpoch: epoch } = this.#deps.view;
    const { founder = this.#deps.identity.nodeId } = cluster;
    const request: PlaceRequest = { epoch, founder, takesAnyPlace: true };
    const asked = this.#others.filter((id) => isUnreachable || !this.#answered.has(id));
    // Waits for all answers, since the first one may have an older place than the next.
    const places = await Promise.all(asked.map((id) => this.#ask(id, request)));
    const latest = latestPlace(places.filter((place) => place !== null));
    if (latest !== null) this.#follow(latest);
  }

  /** Null: the node does not answer, or knows no later place. */
  async #ask(id: string, request: PlaceRequest): Promise<LaterPlace | null> {
    try {
      const place = await this.#deps.peers.ask<LaterPlace | null>(id, laterPlaceRequest, request, noticeMs);
      if (place !== undefined) this.#answered.add(id);
      return place ?? null;
    } catch {
      return null;
    }
  }

  /** Whether a majority of the nodes, this one included, has answered which place it knows. Nodes that restart with this one may answer only later checks. */
  get #hasMajorityAnswered(): boolean {
    const others = this.#others;
    return 2 * others.filter((id) => this.#answered.has(id)).length >= others.length;
  }

  /** What a node needs to use the servers. */
  parameters(nats: NatsSource): NatsJoinParameters {
    const { view, membership, certificates } = this.#deps;
    const credentials = certificates.ownCredentials();
    if (credentials === null) throw new Error('this node has no certificate of the cluster');
    const clusterKey = Buffer.from(membership.clusterKey()).toString('base64');
    return { clusterUuid: view.cluster.uuid, clusterKey, credentials, nats };
  }

  get #others(): string[] {
    const { view, identity } = this.#deps;
    return view.cluster.nodes.map(({ uuid }) => uuid).filter((id) => id !== identity.nodeId);
  }

  get #isUnreachable(): boolean {
    const { membership, store } = this.#deps;
    const problem =
      membership.natsSource() === null ? membership.founderTransfer?.mirror?.problem : store.problem;
    return (problem ?? null) !== null;
  }

  /** The place that this node uses; null: the configuration does not name it. */
  async #knownPlace(): Promise<EnginePlace | null> {
    const { membership, store, view } = this.#deps;
    const { revisionEpoch: epoch, cluster } = view;
    if (membership.natsSource() !== null) {
      const record = (await store.get<EngineRecord>(engineKey))?.value;
      return record === undefined ? null : { epoch, record };
    }
    const founder = cluster.nodes.find(({ uuid }) => uuid === cluster.founder);
    return founder === undefined ? null : { epoch, founder: nodeAddressOf(founder) };
  }

  /** Null: this node knows no later place than that of the request. */
  async #laterThan(request: PlaceRequest, from: string): Promise<LaterPlace | null> {
    const { founderChange, membership, view } = this.#deps;
    const { cluster, revisionEpoch: epoch } = view;
    if (membership.natsSource() === null) return founderChange.noticeFor(request);
    if (request.takesAnyPlace !== true || !supersedes({ epoch }, request)) return null;
    if (this.#others.includes(from)) return this.#knownPlace();
    return cluster.left?.includes(from) ? { epoch, isRemoved: true } : null;
  }

  /**
   * Ignores a message that names a founder while this node reaches the place that it uses: it gets the last change from there, after all
   * changes before that one.
   */
  #noticed(place: EnginePlace | null): void {
    if (place !== null && ('record' in place || this.#isUnreachable)) this.#follow(place);
  }

  /** Begins to use the place if it is later than the one that this node knows, unless this node is following another already. */
  #follow(place: LaterPlace): void {
    const { founderChange, identity, membership, view, log } = this.#deps;
    const { engineTransfer } = membership;
    if ('founder' in place && membership.natsSource() === null) {
      founderChange.noticed(place);
      return;
    }
    if (engineTransfer === null || place.epoch <= view.revisionEpoch || this.#isFollowing) return;
    if ('founder' in place && place.founder.nodeId === identity.nodeId) return;
    this.#isFollowing = true;
    if ('isRemoved' in place) {
      log.error('engine.removed', { epoch: view.revisionEpoch, later: place.epoch });
      engineTransfer.removed();
      return;
    }
    const following =
      'founder' in place
        ? engineTransfer.followFounder(place.founder, place.epoch)
        : this.#useServers(engineTransfer, place.record);
    following
      .then(() => log.info('engine.followed', { epoch: place.epoch }))
      .catch((error: Error) => {
        this.#answered.clear();
        log.error('engine.not_followed', { reason: error.message });
      })
      .finally(() => {
        this.#isFollowing = false;
      });
  }

  /** Rejects where the key of this node does not decrypt the login. */
  async #useServers(transfer: EngineTransfer, record: EngineRecord): Promise<void> {
    const source = JSON.parse(this.#deps.secrets.open(engineSecret, record.source)) as NatsSource;
    await transfer.useServers(this.parameters(source));
  }
}
