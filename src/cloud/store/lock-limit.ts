// Serializes transactions that count rows before they add one, so that two servers cannot both take the last place below a limit.
import type { Store } from './tables.ts';

export type Limited = 'capacity' | 'projects' | 'tokens';

/** Locks the fact of this name until the end of the transaction by writing it first. */
export async function lockLimit(transaction: Store, name: Limited): Promise<void> {
  const value = `guards the limit of ${name}`;
  await transaction
    .insertInto('facts')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
