// The initial rows of a new store: one tenant, one user of the organization, the cloud of this machine.
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import type { Store } from './tables.ts';

/** What the table `facts` has about the whole store. */
export interface StoreFacts {
  readonly tenantId: string;
}

/** Several processes may call it concurrently: only the first one writes. */
export async function insertInitialRows({
  store,
  clock,
  random,
}: {
  store: Store;
  clock: Clock;
  random: Random;
}): Promise<StoreFacts> {
  const created_at = clock.wallMs();
  return store.transaction().execute(async (transaction) => {
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('facts')
      .values({ name: 'tenant_id', value: random.uuid() })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows === 1n) {
      await transaction
        .insertInto('members')
        .values({ id: random.uuid(), name: 'Owner', email: 'owner@localhost', created_at })
        .execute();
      await transaction
        .insertInto('clouds')
        .values({
          id: random.uuid(),
          name: 'local',
          provider: 'aws',
          region: 'us-east-1',
          cidr: '127.0.0.0/8',
          status: 'ready',
          created_at,
        })
        // The operator may have added a cloud of this name before the first start.
        .onConflict((conflict) => conflict.column('name').doNothing())
        .execute();
    }
    const { value } = await transaction
      .selectFrom('facts')
      .select('value')
      .where('name', '=', 'tenant_id')
      .executeTakeFirstOrThrow();
    return { tenantId: value };
  });
}
