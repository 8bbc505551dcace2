// Serializes concurrent changes of the data that belongs to one row.
import type { Store } from './tables.ts';

/**
 * Locks a row until the end of the transaction by writing its present values, which both databases support. Returns false if there is
 * no such row.
 */
export async function lockRow(
  transaction: Store,
  table: 'projects' | 'clusters',
  id: string,
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable(table as 'clusters')
    .set((row) => ({ name: row.ref('name') }))
    .where('id', '=', id)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
