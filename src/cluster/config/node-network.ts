// How nodes reach each other: address family, encryption, and their listeners.
import type { Family, NodeListener, NodeNetwork, NodeState } from './cluster-state.ts';

/** The initial state of a node. */
const initialNetwork: NodeNetwork = {
  afamily: 'inet',
  nodeEncryption: false,
  afamilyOnly: false,
  listeners: [{ afamily: 'inet', nodeEncryption: false }],
};

export const networkOf = (node: NodeState): NodeNetwork => node.network ?? initialNetwork;

export const sameListener = (a: NodeListener, b: NodeListener): boolean =>
  a.afamily === b.afamily && a.nodeEncryption === b.nodeEncryption;

export function withListener(network: NodeNetwork, { afamily, nodeEncryption }: NodeListener): NodeNetwork {
  const added = { afamily, nodeEncryption };
  const isThere = network.listeners.some((one) => sameListener(one, added));
  return isThere ? network : { ...network, listeners: [...network.listeners, added] };
}

export const withoutListener = (network: NodeNetwork, gone: NodeListener): NodeNetwork => ({
  ...network,
  listeners: network.listeners.filter((one) => !sameListener(one, gone)),
});

/** The network without listeners of address families that the node was not started on; the same object if nothing changes. */
export function limitedToFamilies(network: NodeNetwork, families: readonly Family[]): NodeNetwork {
  const isThere = ({ afamily }: { afamily: Family }) => families.includes(afamily);
  const isTrue = !network.afamilyOnly || families.length === 1;
  if (isTrue && isThere(network) && network.listeners.every(isThere)) return network;
  const afamily = isThere(network) ? network.afamily : (families[0] as Family);
  const start = { ...network, afamily, afamilyOnly: network.afamilyOnly && families.length === 1 };
  return network.listeners
    .map((one) => (isThere(one) ? one : { ...one, afamily }))
    .reduce(withListener, { ...start, listeners: [] });
}
