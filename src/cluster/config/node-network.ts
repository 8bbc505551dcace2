// How nodes reach each other: address family, encryption, and their listeners.
import { urlHost } from '#base/host-and-port.ts';
import type { Family, NodeListener, NodeNetwork, NodeState } from './cluster-state.ts';

/** The network of a node that was never configured. */
const initialNetwork: NodeNetwork = {
  afamily: 'inet',
  nodeEncryption: false,
  afamilyOnly: false,
  listeners: [{ afamily: 'inet', nodeEncryption: false }],
};

export const networkOf = (node: Pick<NodeState, 'network'>): NodeNetwork => node.network ?? initialNetwork;

/** The address by which programs on the node's machine reach it, where it listens on loopback or on all addresses. */
export const loopbackOf = (node: Pick<NodeState, 'network'>): string =>
  networkOf(node).afamily === 'inet6' ? '::1' : '127.0.0.1';

/** The address of the node's REST port, the same in the answers of all nodes. */
export const restAddressOf = (node: Pick<NodeState, 'hostname' | 'network' | 'ports'>): string =>
  `${urlHost(node.hostname ?? loopbackOf(node))}:${node.ports.mgmt}`;

/** Whether all traffic between these nodes is encrypted: only then does their cluster have an encryption level. */
export const encryptsBetween = (nodes: readonly NodeState[]): boolean =>
  nodes.every((node) => networkOf(node).nodeEncryption);

export const sameListener = (a: NodeListener, b: NodeListener): boolean =>
  a.afamily === b.afamily && a.nodeEncryption === b.nodeEncryption;

export function withListener(network: NodeNetwork, { afamily, nodeEncryption }: NodeListener): NodeNetwork {
  const added = { afamily, nodeEncryption };
  const isPresent = network.listeners.some((listener) => sameListener(listener, added));
  return isPresent ? network : { ...network, listeners: [...network.listeners, added] };
}

/**
 * The network of a node that is added to these nodes: its traffic is encrypted if theirs is. Otherwise the cluster would lose its encryption level, and with
 * the level `strict` all its nodes would open their plain ports to other machines.
 */
export function networkOfAdded(
  network: NodeNetwork | undefined,
  nodes: readonly NodeState[],
): NodeNetwork | undefined {
  if (!encryptsBetween(nodes)) return network;
  const encrypted = { ...networkOf({ ...(network && { network }) }), nodeEncryption: true };
  return withListener(encrypted, encrypted);
}

export const withoutListener = (network: NodeNetwork, removed: NodeListener): NodeNetwork => ({
  ...network,
  listeners: network.listeners.filter((listener) => !sameListener(listener, removed)),
});

/**
 * The network of a node that was started on these address families: another family in it, or in its listeners, is replaced by the first of them.
 * Returns the same object if nothing changes.
 */
export function limitedToFamilies(network: NodeNetwork, families: readonly Family[]): NodeNetwork {
  const isAvailable = ({ afamily }: { afamily: Family }) => families.includes(afamily);
  const mayKeepFamilyOnly = !network.afamilyOnly || families.length === 1;
  if (mayKeepFamilyOnly && isAvailable(network) && network.listeners.every(isAvailable)) return network;
  const afamily = isAvailable(network) ? network.afamily : (families[0] as Family);
  const initial = { ...network, afamily, afamilyOnly: network.afamilyOnly && families.length === 1 };
  return network.listeners
    .map((listener) => (isAvailable(listener) ? listener : { ...listener, afamily }))
    .reduce(withListener, { ...initial, listeners: [] });
}
