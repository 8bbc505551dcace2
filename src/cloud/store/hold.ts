// Of several who change what belongs to one row at the same time, one goes first.
import type { Store } from './tables.ts';

/**
 * Others who hold the same row wait until this transaction is over. Both databases hold a row that is written, so it is, with what
 * it has. False when there is no such row.
 */
export async function hold(transaction: Store, table: 'projects' | 'clusters', id: string): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable(table as 'clusters')
    .set((row) => ({ name: row.ref('name') }))
    .where('id', '=', id)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
