// Checks the options of a first start before anything is created, so that a mistake leaves nothing behind.
import { defaultPasswordPolicy, nameProblem, passwordProblem } from '#auth/identity-rules.ts';
import type { NodeOptions } from './node-options.ts';
import { UsageError } from './options.ts';

/** Throws a UsageError that names the option. */
export async function checkFirstStart(
  options: Pick<NodeOptions, 'memory-quota' | 'services'>,
  credentials: { username: string; password: string } | null,
  makePassword: boolean,
): Promise<void> {
  // A node without an administrator waits until a cluster adds it and determines its services.
  if ((credentials !== null || makePassword) && !options.services.split(',').includes('kv'))
    throw new UsageError('--services: the first node of a cluster needs the service kv');
  if (credentials !== null) {
    const nameReason = nameProblem(credentials.username, 'Username');
    if (nameReason !== null) throw new UsageError(`--username: ${nameReason}`);
    const { minLength } = defaultPasswordPolicy;
    if ([...credentials.password].length < minLength)
      throw new UsageError(`--password: needs at least ${minLength} characters`);
    const passwordReason = passwordProblem(credentials.password, defaultPasswordPolicy);
    if (passwordReason !== null) throw new UsageError(`--password: ${passwordReason}`);
  }
  if (options['memory-quota'] !== undefined) await checkMemoryQuota(options['memory-quota']);
}

/** Loads the rules of quotas, which other starts do not need. */
async function checkMemoryQuota(quotaMb: number): Promise<void> {
  const { nodeQuotaMaxMb, quotaMinimaMb } = await import('#cluster/provisioning/quotas.ts');
  const { memoryLimit } = await import('#cluster/nodes/adapters/machine.adapter.ts');
  const maxMb = nodeQuotaMaxMb(memoryLimit());
  if (quotaMb > maxMb) throw new UsageError(`--memory-quota: this machine allows at most ${maxMb} MB`);
  const minMb = quotaMinimaMb.memoryQuota;
  if (quotaMb < minMb) throw new UsageError(`--memory-quota: needs at least ${minMb} MB`);
}
