// Serializes transactions that count rows before they add one, so that two servers cannot both take the last place below a limit.
import { putFact } from './put-fact.ts';
import type { Store } from './tables.ts';

export type Limited = 'capacity' | 'projects' | 'tokens';

/** Locks the fact of this name until the end of the transaction by writing it first. */
export async function lockLimit(transaction: Store, name: Limited): Promise<void> {
  await putFact(transaction, name, `guards the limit of ${name}`);
}
