// What statements ask for about replicas and nodes of indexes, compared with the cluster. Every node with the index service has each
// index whole, so a number of replicas and a list of nodes are checked and shown, but do not decide where an index is.
import { urlHost } from '#base/host-and-port.ts';
import type { IndexChange, IndexDefinition, NewIndex } from '#index/index.contract.ts';
import type { NodeState } from '../config/cluster-state.ts';

/** The number of replicas, or why it is refused. */
export type IndexPlacement = { readonly replicas: number } | { readonly refused: string };

const create = 'Fails to create index. ';
const alter = 'Fail to alter index: ';

/** `nodes`: all of the cluster. `defaultReplicas`: the setting of the cluster. */
export function indexPlacementOf(
  { replicas, nodes: names, partition }: NewIndex,
  nodes: readonly NodeState[],
  defaultReplicas: number,
): IndexPlacement {
  const indexers = indexersOf(nodes);
  const unknown = names && problemOfNames(names, indexers);
  if (unknown) return { refused: `${create} ${unknown}` };
  // A partitioned index names the nodes of its partitions.
  const ofNames = names && partition === undefined ? names.length - 1 : undefined;
  if (ofNames !== undefined && replicas !== undefined && replicas !== ofNames)
    return { refused: `${create} Parameter num_replica should be one less than parameter nodes.` };
  const wanted = replicas ?? ofNames ?? defaultReplicas;
  // At least 1: a node that is alone may not be in the list.
  return wanted < Math.max(1, indexers.length)
    ? { replicas: wanted }
    : { refused: `${create} ${tooFewNodes('create', wanted)}` };
}

/** The number of replicas after the change. */
export function placementAfter(
  { replicas: before }: IndexDefinition,
  change: IndexChange,
  nodes: readonly NodeState[],
): IndexPlacement {
  const indexers = indexersOf(nodes);
  const unknown = change.nodes && problemOfNames(change.nodes, indexers);
  if (unknown) return { refused: alter + unknown };
  switch (change.action) {
    case 'replica_count':
      return withCount(change.replicas, Math.max(1, indexers.length));
    case 'drop_replica':
      return withoutReplica(before, change.replicaId);
    case 'move':
      return moved(before, change.nodes, indexers.length);
    default:
      return {
        refused: `${alter}action is one of move, replica_count, drop_replica, and not "${change.action}"`,
      };
  }
}

function withCount(replicas: number | undefined, indexers: number): IndexPlacement {
  if (replicas === undefined)
    return { refused: `${alter}action replica_count takes the new number, as in "num_replica": 1` };
  return replicas < indexers ? { replicas } : { refused: alter + tooFewNodes('alter', replicas) };
}

function withoutReplica(before: number, replicaId: number | undefined): IndexPlacement {
  if (before === 0) return { refused: `${alter}the index has no replica to drop` };
  if (replicaId === undefined || replicaId > before)
    return { refused: `${alter}action drop_replica takes "replicaId", a number from 0 to ${before}` };
  return { replicas: before - 1 };
}

function moved(replicas: number, names: readonly string[] | undefined, indexers: number): IndexPlacement {
  if (indexers <= 1) return { refused: `${alter}there is only one indexer node, so an index cannot move` };
  const count = replicas + 1;
  if (names?.length !== count)
    return {
      refused: `${alter}action move takes "nodes", ${count === 1 ? 'the name of a node' : `the names of ${count} nodes`}`,
    };
  return { replicas };
}

const indexersOf = (nodes: readonly NodeState[]): NodeState[] =>
  nodes.filter(
    ({ membership, services }) =>
      membership === 'active' && (services === null || services.includes('index')),
  );

/** null: each name is a node with the index service, and none is named twice. */
function problemOfNames(names: readonly string[], indexers: readonly NodeState[]): string | null {
  const seen = new Set<NodeState>();
  for (const name of names) {
    const node = indexers.find((candidate) => isNameOf(name, candidate));
    if (node === undefined)
      return `Node ${name} does not exist, or is not running the index service. Nodes have names such as 127.0.0.1:8091.`;
    if (seen.has(node)) return `Parameter nodes has node ${name} twice.`;
    seen.add(node);
  }
  return null;
}

/** A node that has no name yet is the only one: each host may be its own. */
function isNameOf(name: string, { hostname, ports, alternate }: NodeState): boolean {
  const [, host = '', port] = /^(.+):(\d{1,5})$/.exec(name) ?? [];
  if (hostname === null) return port === String(ports.mgmt) || port === String(ports.mgmtSSL);
  const isHost = urlHost(hostname).toLowerCase() === host.toLowerCase();
  if (isHost && (port === String(ports.mgmt) || port === String(ports.mgmtSSL))) return true;
  if (alternate === null || urlHost(alternate.hostname).toLowerCase() !== host.toLowerCase()) return false;
  const { mgmt = ports.mgmt, mgmtSSL = ports.mgmtSSL } = alternate.ports;
  return port === String(mgmt) || port === String(mgmtSSL);
}

/** Clients search for the words `not enough indexer nodes`. */
const tooFewNodes = (verb: 'create' | 'alter', replicas: number): string =>
  `There are not enough indexer nodes to ${verb} index with replica count of ${replicas}.`;
