// Whether other query nodes have gone: transactions live on the node that began them, so that nobody else ends those of a node that does not return.
import type { QueryState } from './query-messages.ts';

type Nodes = { readonly node: Pick<QueryState['node'], 'nodes'> };

/** `before`: null at the first state of this process, before which others may have gone. */
export function mayHaveGoneNodes(before: Nodes | null, { node }: Nodes): boolean {
  if (before === null) return node.nodes.length > 1;
  const names = new Set(node.nodes.map(({ name }) => name));
  return before.node.nodes.some(({ name, isThis }) => !isThis && !names.has(name));
}
