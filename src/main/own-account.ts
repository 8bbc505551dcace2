// Creates an account of the data port for this process; its secret is in memory only.
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

/** Names that start with `@` cannot be given to users. */
export async function makeOwnAccount(name: `@divan-${string}`): Promise<OwnAccount> {
  const password = realRandom.bytes(32).toString('hex');
  const iterations = 1; // more of them protect only passwords that can be guessed
  const scram = await scramVerifiers(password, iterations, realKdf, realRandom);
  return {
    username: name,
    password,
    spec: { name, credentialId: realRandom.uuid(), scram, grants: fullGrants() },
  };
}
