// Keyspaces of the catalog whose rows describe one node: the requests, prepared statements, tasks and transactions of its query service. A
// statement shows the rows of all nodes: the node that executes the statement requests the rows of the others.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { PlainRow, RowsPage } from '../query.contract.ts';
import type { QueryParts } from '../state/parts.ts';
import { shownNameOf } from '../state/prepared-cache.ts';
import { activeRow, completedRow, preparedRow } from './request-rows.ts';
import { removeTask, taskRows } from './task-rows.ts';
import { transactionRow } from './transaction-rows.ts';

/** A row that is made when it is shown or sent: that takes time for long statements, and there may be thousands of rows. */
export interface OwnRow {
  readonly id: string;
  readonly make: () => PlainRow;
}

interface OwnKeyspace {
  readonly rows: (service: QueryParts) => readonly OwnRow[];
  readonly remove: (service: QueryParts, id: string) => void;
}

const made = (rows: readonly PlainRow[]): OwnRow[] => rows.map((row) => ({ id: row.id, make: () => row }));

const ownKeyspaces: Readonly<Record<string, OwnKeyspace>> = {
  active_requests: {
    rows: ({ active, deps }) =>
      active.all().map((request) => ({ id: request.id, make: () => activeRow(request, deps.clock) })),
    remove: ({ active }, id) =>
      active.find(id)?.cancel(sqlError(5011, 'the request was cancelled by an administrator')),
  },
  completed_requests: {
    rows: ({ completed }) =>
      completed.all().map((request) => ({ id: request.active.id, make: () => completedRow(request) })),
    remove: ({ completed }, id) => void completed.delete(id),
  },
  prepareds: {
    rows: ({ prepared }) =>
      prepared.all().map((entry) => ({ id: shownNameOf(entry), make: () => preparedRow(entry) })),
    remove: ({ prepared }, id) => void prepared.remove(id),
  },
  tasks_cache: {
    rows: (service) => made(taskRows(service)),
    remove: (service, id) => void removeTask(service, id),
  },
  transactions: {
    rows: ({ transactions }) => made(transactions.all().map(transactionRow)),
    remove: ({ transactions }, id) => void transactions.end(id),
  },
};

export const ownRows = (service: QueryParts, keyspace: string): readonly OwnRow[] =>
  ownKeyspaces[keyspace]?.rows(service) ?? [];

export const isOwnKeyspace = (keyspace: string): boolean => Object.hasOwn(ownKeyspaces, keyspace);

/** A node sends its rows to another one in pages of this many characters and one row more: larger ones would delay its other requests. */
const pageCharacters = 1 << 20;
/** The maximum number of pages that a statement reads from one node. */
const pagesMax = 64;

/** A page of the rows of this node for another node, in the order of their ids, from the first id above `after` on. Rows have no undefined members. */
export function pageForOthers(service: QueryParts, keyspace: string, after: string | null): RowsPage {
  const all = ownRows(service, keyspace);
  const left = after === null ? [...all] : all.filter(({ id }) => id > after);
  left.sort((a, b) => (a.id < b.id ? -1 : 1));
  const rows: PlainRow[] = [];
  let characters = 0;
  for (const { id, make } of left) {
    if (characters > pageCharacters) return { rows, next: rows.at(-1)?.id ?? null };
    const text = JSON.stringify(make().value);
    characters += text.length;
    rows.push({ id, value: JSON.parse(text) });
  }
  return { rows, next: null };
}

/**
 * The rows of all nodes; a request that reads one again does not make it again. Ids name the node, since they are unique on one node only. `warn` is
 * called for nodes whose rows are missing.
 */
export async function rowsOfAllNodes(
  service: QueryParts,
  keyspace: string,
  warn: (warning: Error) => void,
): Promise<readonly OwnRow[]> {
  const { deps } = service;
  const own = ownRows(service, keyspace);
  const { name, nodes } = deps.node();
  if (nodes.length < 2) return own.map(({ id, make }) => ({ id, make: once(make) }));
  const warnOf = (node: string, reason: string) =>
    warn(sqlError(11008, `system:${keyspace}`, `node ${node}: ${reason}`));
  const others = await deps.otherNodes.rows(keyspace);
  for (const { node, reason } of others.failed) warnOf(node, reason);
  const read = others.nodes.map(async ({ node, ...first }) => {
    const { rows, problem } = await allPages(first, (after) =>
      deps.otherNodes.rowsAfter(keyspace, node, after),
    );
    if (problem !== null) warnOf(node, problem);
    return { node, rows: made(rows) };
  });
  return [{ node: name, rows: own }, ...(await Promise.all(read))].flatMap(({ node, rows }) =>
    rows.map((row) => withNode(row, node)),
  );
}

function withNode({ id: ownId, make }: OwnRow, node: string): OwnRow {
  const id = `[${node}]${ownId}`;
  return { id, make: once(() => ({ id, value: { ...(make().value as object), node } })) };
}

function once(make: () => PlainRow): () => PlainRow {
  let row: PlainRow | undefined;
  return () => (row ??= make());
}

/** `problem`: why the rows after the returned ones are missing; null if all were read. */
async function allPages(
  first: RowsPage,
  read: (after: string) => Promise<RowsPage>,
): Promise<{ rows: readonly PlainRow[]; problem: string | null }> {
  const rows = [...first.rows];
  let { next } = first;
  for (let page = 1; next !== null; page++) {
    if (page === pagesMax) return { rows, problem: `only its first ${rows.length} rows are shown` };
    try {
      const following = await read(next);
      for (const row of following.rows) rows.push(row);
      next = following.next;
    } catch (error) {
      return { rows, problem: (error as Error).message };
    }
  }
  return { rows, problem: null };
}

/** Removes rows by ids in the form in which `rowsOfAllNodes` returns them. */
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
