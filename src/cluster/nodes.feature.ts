// Creates the services for a cluster of several nodes: certificates, connections between the nodes, change of the founder and of the store.
import type { NodeAddress } from '#replog/node-address.ts';
import type { AgentDeps } from './agent/agent.ts';
import { answerForData } from './buckets/every-node.ts';
import { ClusterStore } from './config/cluster.store.ts';
import type { ClusterView } from './config/cluster-view.ts';
import { EngineMove } from './engine/engine-move.ts';
import { EnginePlaces } from './engine/engine-place.ts';
import { EngineReturn } from './engine/engine-return.ts';
import { ServerOffers } from './engine/server-offers.ts';
import { ServerReplacement } from './engine/server-replacement.ts';
import { FounderChange } from './founder/founder-change.ts';
import { FounderHandover } from './founder/founder-handover.ts';
import type { FounderJoinParameters } from './joining/join-messages.ts';
import { noMembership, noNet } from './joining/no-membership.ts';
import { AbandonedJoins } from './joining/remove-node.ts';
import type { ClusterManagerOptions } from './manager-options.ts';
import { NodeFigures } from './nodes/node-figures.ts';
import { NodeSnapshots, type NodeSnapshotsDeps } from './nodes/node-snapshots.ts';
import { InterNode } from './peers/inter-node.ts';
import { NodeCertificates } from './peers/node-certificates.ts';

export function createNodes(options: ClusterManagerOptions, view: ClusterView) {
  const nodeCertificates = new NodeCertificates(options);
  const membership = options.membership ?? noMembership;
  const interNode = new InterNode({
    ...options,
    view,
    certificates: nodeCertificates,
    net: options.net ?? noNet,
    isFounder: () => membership.isFounder,
  });
  const { peers } = interNode;
  const founderDeps = {
    ...options,
    view,
    peers,
    // A getter, since the transfer becomes null once the nodes run NATS servers of their own.
    get founderTransfer() {
      return membership.founderTransfer;
    },
    joinParametersFor(founder: NodeAddress): FounderJoinParameters | null {
      const credentials = nodeCertificates.ownCredentials();
      if (credentials === null) return null;
      const clusterKey = Buffer.from(membership.clusterKey()).toString('base64');
      return { clusterUuid: view.cluster.uuid, clusterKey, founder, credentials };
    },
  };
  const founderChange = new FounderChange(founderDeps);
  const stopServing = () => interNode.stopServing();
  const founderHandover = new FounderHandover({
    ...founderDeps,
    // Declared again, since the spread reads the getter of `founderDeps` only once.
    get founderTransfer() {
      return membership.founderTransfer;
    },
    change: founderChange,
    stopServing,
  });
  const offers = new ServerOffers({ ...options, peers, membership });
  const replacement = new ServerReplacement({ ...options, view, peers, membership, offers });
  const places = new EnginePlaces({
    ...options,
    view,
    peers,
    membership,
    founderChange,
    certificates: nodeCertificates,
  });
  const engineReturn = new EngineReturn({ ...options, view, peers, membership, replacement, places });
  const engineMove = new EngineMove({
    ...options,
    view,
    peers,
    membership,
    stopServing,
    offers,
    places,
    replacement,
    returning: engineReturn,
  });
  peers.answer('ping', () => ({ wallMs: options.clock.wallMs() }));
  return {
    nodeCertificates,
    interNode,
    founderChange,
    founderHandover,
    engineMove,
    nodeTls: nodeTlsOf(nodeCertificates),
    abandonedJoins: new AbandonedJoins({
      ...options,
      view,
      cluster: new ClusterStore(options.store, options.identity.nodeId),
    }),
    /** Answers requests of other nodes about this node; creates what describes all nodes to clients. */
    describeNodes(parts: Omit<NodeSnapshotsDeps, 'nodeFigures'>) {
      const nodeFigures = new NodeFigures({
        view,
        nodeId: options.identity.nodeId,
        clock: options.clock,
        ask: (nodeId, timeoutMs) => peers.ask(nodeId, 'figures', null, timeoutMs),
      });
      const snapshots = new NodeSnapshots({ ...parts, nodeFigures });
      peers.answer('figures', () => snapshots.ownFigures());
      answerForData(peers, parts.data);
      return { nodeFigures, snapshots };
    },
  };
}

/** The node's certificate in the form that the data service takes. */
const nodeTlsOf = (certificates: NodeCertificates): NonNullable<AgentDeps['nodeTls']> => ({
  onChange: (listener) => certificates.onChange(listener),
  current() {
    const credentials = certificates.ownCredentials();
    return credentials && { certificate: credentials.cert, key: credentials.key, authority: credentials.ca };
  },
});
