// Changes of a password by the user whom it belongs to.
import type { Identity } from '#contract/route.ts';
import { userRefusals } from '../refusals/users.refusals.ts';
import type { UsersService } from './users.service.ts';
import type { StoredCredentials, StoredUser, UsersState } from './users.store.ts';

/** The administrator has no uuid. */
type Account = StoredCredentials & Partial<Pick<StoredUser, 'uuid'>>;

/**
 * Call for a caller who was just authenticated. A password that somebody else sets while the new one is hashed stays: an administrator may
 * lock out a stranger who knows the old one.
 */
export async function changeOwnPassword(
  service: UsersService,
  { name, domain }: Identity,
  password: string,
): Promise<void> {
  const accountIn = ({ administrator, users }: UsersState): Account | null | undefined =>
    domain === 'admin' ? administrator : users.find(({ id }) => id === name);
  const before = accountIn(service.state);
  const permit = (state: UsersState): void => {
    const present = accountIn(state);
    const isSameAccount = present?.uuid === before?.uuid;
    if (isSameAccount && present?.credentialId !== before?.credentialId) throw userRefusals.passwordChanged();
  };
  if (domain === 'admin') await service.setAdministrator(name, password, 'any', permit);
  else await service.changePassword(name, password, permit);
}
