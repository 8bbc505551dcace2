// Before a founder serves the configuration of its cluster, it asks the members whether another node has taken it over meanwhile.
import { type SecretBox, UnsealError } from '#auth/secret-box.ts';
import { type ClusterState, clusterKey, type NodeState } from '#cluster/config/cluster-state.ts';
import type { FounderNotice } from '#cluster/founder/founder-change.ts';
import type { FounderJoinParameters } from '#cluster/joining/join-messages.ts';
import { nodeAddressOf, termRequest } from '#cluster/peers/inter-node.ts';
import { NodeCertificates } from '#cluster/peers/node-certificates.ts';
import { Peers } from '#cluster/peers/peers.ts';
import { realClock } from '#ports/clock.ts';
import { type Log, silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { supersedes } from '#replog/mirror/config-link.ts';
import { connectToNode, type NodeCredentials, nodeProtocols } from '#replog/served/node-connect.adapter.ts';

export interface FounderParts {
  store: ConfigStore;
  nodeId: string;
  secrets: SecretBox;
  /** Encrypts the secrets of the configuration. */
  clusterKey: Uint8Array;
  localAddress: string | undefined;
  log: Log;
}

/** Longer than a connection to a machine that does not answer may take. */
const answerMs = 4_000;

/** What this node needs to be a member of a later founder's cluster; null: no member that answers knows one. */
export async function laterFounder(parts: FounderParts): Promise<FounderJoinParameters | null> {
  const { store, nodeId, log } = parts;
  const cluster = (await store.get<ClusterState>(clusterKey))?.value;
  const others = cluster?.nodes.filter(({ uuid }) => uuid !== nodeId) ?? [];
  if (cluster === undefined || others.length === 0) return null;
  const credentials = await credentialsOf(parts);
  if (credentials === null) return null;
  const term = { epoch: cluster.revEpoch ?? 1, founder: nodeId };
  const notices = await noticesOf(others, term, credentials, parts.localAddress);
  const [latest] = notices.sort((a, b) => (supersedes(termOf(a), termOf(b)) ? -1 : 1));
  if (latest === undefined || !supersedes(termOf(latest), term)) return null;
  log.error('founder.steps_down', { epoch: term.epoch, later: latest.epoch, founder: latest.founder.nodeId });
  return {
    clusterUuid: cluster.uuid,
    founder: latest.founder,
    credentials,
    clusterKey: Buffer.from(parts.clusterKey).toString('base64'),
  };
}

const termOf = ({ epoch, founder }: FounderNotice) => ({ epoch, founder: founder.nodeId });

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
async function noticesOf(
  nodes: readonly NodeState[],
  term: { epoch: number; founder: string },
  credentials: NodeCredentials,
  localAddress: string | undefined,
): Promise<FounderNotice[]> {
  const addresses = new Map(nodes.map((node) => [node.uuid, nodeAddressOf(node)] as const));
  const peers = new Peers({
    clock: realClock,
    log: silentLog,
    async connect(nodeId) {
      const address = addresses.get(nodeId);
      if (address === undefined) throw new Error(`node ${nodeId} has no address`);
      return connectToNode(address, credentials, nodeProtocols.manager, localAddress);
    },
  });
  const answers = nodes.map(({ uuid }) =>
    peers.ask<FounderNotice | null>(uuid, termRequest, term, answerMs).catch(() => null),
  );
  const found = await Promise.all(answers);
  peers.stop();
  return found.filter((notice) => notice !== null);
}
