// An account of the data port that this process makes for its readiness check: its secret lives in memory only.
import { fullGrants } from '#auth/grants.ts';
import { realKdf } from '#auth/kdf.host.ts';
import { scramVerifiers } from '#auth/passwords.ts';
import type { UserSpec } from '#kv/admin.ts';
import { realRandom } from '#ports/random.ts';

export interface OwnAccount {
  username: string;
  password: string;
  spec: UserSpec;
}

export async function makeOwnAccount(): Promise<OwnAccount> {
  const password = realRandom.bytes(32).toString('hex');
  // Names that start with @ cannot be given to users.
  const name = '@divan-ready';
  const scram = await scramVerifiers(password, 1, realKdf, realRandom);
  return {
    username: name,
    password,
    spec: { name, credentialId: realRandom.uuid(), scram, grants: fullGrants() },
  };
}
