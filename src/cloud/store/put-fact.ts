import type { Store } from './tables.ts';

/** Writes a fact of the cloud, in place of an earlier one of this name. Its row is locked until the end of the transaction. */
export async function putFact(store: Store, name: string, value: string): Promise<void> {
  await store
    .insertInto('facts')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}
