// Keyspaces of the catalog of which each node has rows of its own: what its query service runs, ran and keeps. Any node shows the rows of all
// nodes, by asking the others.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { QueryParts } from '../state/parts.ts';
import type { PlainRow } from './plain-row.ts';
import { activeRow, completedRow, preparedRow } from './request-rows.ts';
import { removeTask, taskRows } from './task-rows.ts';
import { transactionRow } from './transaction-rows.ts';

interface OwnKeyspace {
  readonly rows: (service: QueryParts) => readonly PlainRow[];
  readonly remove: (service: QueryParts, id: string) => void;
}

export const ownKeyspaces: Readonly<Record<string, OwnKeyspace>> = {
  active_requests: {
    rows: ({ active, deps }) => active.all().map((request) => activeRow(request, deps.clock)),
    remove: ({ active }, id) =>
      active.find(id)?.cancel(sqlError(5011, 'the request was cancelled by an administrator')),
  },
  completed_requests: {
    rows: ({ completed }) => completed.all().map(completedRow),
    remove: ({ completed }, id) => void completed.delete(id),
  },
  prepareds: {
    rows: ({ prepared }) => prepared.all().map((entry) => preparedRow(entry)),
    remove: ({ prepared }, id) => void prepared.remove(id),
  },
  tasks_cache: { rows: taskRows, remove: (service, id) => void removeTask(service, id) },
  transactions: {
    rows: ({ transactions }) => transactions.all().map(transactionRow),
    remove: ({ transactions }, id) => void transactions.end(id),
  },
};

/** The limit of what a node sends to another one. */
const sentBytesMax = 8 << 20;

/** The rows of this node, for another one, without undefined members. */
export function rowsForOthers(service: QueryParts, keyspace: string): PlainRow[] {
  const text = JSON.stringify(ownKeyspaces[keyspace]?.rows(service) ?? []);
  if (text.length > sentBytesMax) throw new Error(`its rows have more than ${sentBytesMax} bytes`);
  return JSON.parse(text) as PlainRow[];
}

/** The rows of all nodes. Ids name the node, since each has names of its own. `warn` is called for nodes that do not answer. */
export async function rowsOfAllNodes(
  { deps }: QueryParts,
  keyspace: string,
  own: readonly PlainRow[],
  warn: (warning: Error) => void,
): Promise<readonly PlainRow[]> {
  const { name, nodes } = deps.node();
  if (nodes.length < 2) return own;
  const others = await deps.otherNodes.rows(keyspace);
  for (const { node, reason } of others.failed)
    warn(sqlError(11008, `system:${keyspace}`, `node ${node}: ${reason}`));
  return [{ node: name, rows: own }, ...others.nodes].flatMap(({ node, rows }) =>
    rows.map(({ id, value }) => ({ id: `[${node}]${id}`, value: { ...(value as object), node } })),
  );
}

/** Removes rows by their ids as `rowsOfAllNodes` has them. */
export async function removeFromNodes(
  service: QueryParts,
  keyspace: string,
  ids: readonly string[],
): Promise<void> {
  const { name, nodes } = service.deps.node();
  if (nodes.length < 2) return removeHere(service, keyspace, ids);
  for (const { name: node } of nodes) {
    const prefix = `[${node}]`;
    const bare = ids.filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
    if (bare.length === 0) continue;
    if (node === name) removeHere(service, keyspace, bare);
    else await removeThere(service, { keyspace, node, ids: bare });
  }
}

export function removeHere(service: QueryParts, keyspace: string, ids: readonly string[]): void {
  for (const id of ids) ownKeyspaces[keyspace]?.remove(service, id);
}

async function removeThere(
  { deps }: QueryParts,
  { keyspace, node, ids }: { keyspace: string; node: string; ids: readonly string[] },
): Promise<void> {
  try {
    await deps.otherNodes.remove(keyspace, node, ids);
  } catch (error) {
    throw sqlError(11008, `system:${keyspace}`, `node ${node}: ${(error as Error).message}`);
  }
}
