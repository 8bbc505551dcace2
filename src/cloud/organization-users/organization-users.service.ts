// Adds and removes the organization's users for commands of the operator; the API only lists them.
import { z } from 'zod';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import { invalid, notFound } from '../answers/api-error.ts';
import { text } from '../answers/component.ts';
import type { Store, Tables } from '../store/tables.ts';

export const newOrganizationUser = z.strictObject({
  name: text(1, 256),
  email: z.email('must be an e-mail address'),
});
export type NewOrganizationUser = z.output<typeof newOrganizationUser>;
export type OrganizationUserRow = Tables['members'];

export interface OrganizationUsersOptions {
  store: Store;
  clock: Clock;
  random: Random;
}

export class OrganizationUsersService {
  private readonly options: OrganizationUsersOptions;

  constructor(options: OrganizationUsersOptions) {
    this.options = options;
  }

  /** Throws if another user has the e-mail address. */
  async add(user: NewOrganizationUser): Promise<OrganizationUserRow> {
    const row = await this.addMissing(user);
    if (row === null) throw invalid(`email: there is a user ${user.email} already`);
    return row;
  }

  /** Null if a user has the e-mail address. */
  async addMissing(user: NewOrganizationUser): Promise<OrganizationUserRow | null> {
    const { store, clock, random } = this.options;
    const row = { ...user, id: random.uuid(), created_at: clock.wallMs() };
    const { numInsertedOrUpdatedRows } = await store
      .insertInto('members')
      .values(row)
      .onConflict((conflict) => conflict.column('email').doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n ? row : null;
  }

  /** `which`: the id or the e-mail address. */
  async remove(which: string): Promise<void> {
    const { numDeletedRows } = await this.options.store
      .deleteFrom('members')
      .where((e) => e.or([e('id', '=', which), e('email', '=', which)]))
      .executeTakeFirst();
    if (numDeletedRows === 0n) throw notFound(`there is no user ${which}`);
  }

  list(): Promise<OrganizationUserRow[]> {
    return this.options.store.selectFrom('members').selectAll().orderBy('name').orderBy('id').execute();
  }
}
