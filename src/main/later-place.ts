// Before a founder serves the configuration of its cluster, it asks the members where the configuration is now: while this node was stopped,
// another node may have taken it over, or the cluster may have moved it to NATS servers or removed this node.
import { type SecretBox, UnsealError } from '#auth/secret-box.ts';
import { type ClusterState, clusterKey, type NodeState } from '#cluster/config/cluster-state.ts';
import { engineSecret } from '#cluster/engine/engine-record.ts';
import type { JoinParameters, LaterPlace, NatsSource, PlaceRequest } from '#cluster/joining/join-messages.ts';
import { latestPlace, placeTerm } from '#cluster/joining/latest-place.ts';
import { laterPlaceRequest, nodeAddressOf } from '#cluster/peers/inter-node.ts';
import { NodeCertificates } from '#cluster/peers/node-certificates.ts';
import { Peers } from '#cluster/peers/peers.ts';
import { realClock } from '#ports/clock.ts';
import { type Log, silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { type StoreTerm, supersedes } from '#replog/mirror/config-link.ts';
import { connectToNode, type NodeCredentials, nodeProtocols } from '#replog/served/node-connect.adapter.ts';
import { StartError } from './start-error.ts';

export interface FounderParts {
  store: ConfigStore;
  nodeId: string;
  secrets: SecretBox;
  /** Encrypts the secrets of the configuration. */
  clusterKey: Uint8Array;
  localAddress: string | undefined;
  log: Log;
  /** Replaced in tests. */
  connect?: typeof connectToNode;
}

/** Longer than a connection to a machine that does not answer may take. */
const answerTimeoutMs = 4_000;

/**
 * The parameters with which this node continues as a member that uses the later place; `removed`: the cluster has removed this node. Null: no
 * node that answers knows a later place.
 */
export async function laterPlace(parts: FounderParts): Promise<JoinParameters | 'removed' | null> {
  const { store, nodeId, secrets, log } = parts;
  const cluster = (await store.get<ClusterState>(clusterKey))?.value;
  const others = cluster?.nodes.filter(({ uuid }) => uuid !== nodeId) ?? [];
  if (cluster === undefined || others.length === 0) return null;
  const credentials = await credentialsOf(parts);
  if (credentials === null) return null;
  const term = { epoch: cluster.revEpoch ?? 1, founder: nodeId };
  const latest = latestPlace(await answersOf(others, term, credentials, parts));
  if (latest === null || !supersedes(placeTerm(latest), term)) return null;
  log.error('founder.steps_down', { epoch: term.epoch, later: placeTerm(latest) });
  if ('isRemoved' in latest) return 'removed';
  const key = Buffer.from(parts.clusterKey).toString('base64');
  const member = { clusterUuid: cluster.uuid, clusterKey: key, credentials };
  if ('founder' in latest) return { ...member, founder: latest.founder };
  return { ...member, nats: sourceOf(secrets, latest) };
}

/** Decrypts the login of the servers. A founder that cannot do that must not serve the configuration that it had before. */
function sourceOf(
  secrets: SecretBox,
  { epoch, record }: Extract<LaterPlace, { record: unknown }>,
): NatsSource {
  try {
    return JSON.parse(secrets.open(engineSecret, record.source)) as NatsSource;
  } catch (error) {
    throw new StartError(
      `the configuration of the cluster is on NATS servers of its nodes (epoch ${epoch}), whose login the key of this node does not decrypt: put the secret.key of the cluster back, or remove the node from the cluster`,
      { cause: error },
    );
  }
}

async function credentialsOf({ store, secrets, nodeId }: FounderParts): Promise<NodeCredentials | null> {
  const certificates = new NodeCertificates({
    store,
    secrets,
    random: realRandom,
    identity: { nodeId, bootId: '' },
    issue: () => Promise.reject(new Error('no certificate is issued before the start')),
  });
  await certificates.start();
  try {
    return certificates.ownCredentials();
  } catch (error) {
    // The start reports a wrong key by the name of its file.
    if (error instanceof UnsealError) return null;
    throw error;
  } finally {
    certificates.stop();
  }
}

/** A member that does not answer may be down, or of a version that knows no change of founders. */
async function answersOf(
  nodes: readonly NodeState[],
  term: StoreTerm,
  credentials: NodeCredentials,
  { localAddress, connect = connectToNode }: FounderParts,
): Promise<LaterPlace[]> {
  const request: PlaceRequest = { ...term, takesAnyPlace: true };
  const addresses = new Map(nodes.map((node) => [node.uuid, nodeAddressOf(node)] as const));
  const peers = new Peers({
    clock: realClock,
    log: silentLog,
    async connect(nodeId) {
      const address = addresses.get(nodeId);
      if (address === undefined) throw new Error(`node ${nodeId} has no address`);
      return connect(address, credentials, nodeProtocols.manager, localAddress);
    },
  });
  const answers = nodes.map(({ uuid }) =>
    peers.ask<LaterPlace | null>(uuid, laterPlaceRequest, request, answerTimeoutMs).catch(() => null),
  );
  const found = await Promise.all(answers);
  peers.stop();
  return found.filter((place) => place !== null);
}
