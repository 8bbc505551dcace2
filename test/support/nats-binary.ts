// Where the NATS server of the tests is: `npm run nats-server` builds it there.
import { execFileSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const natsVersionPinned = '2.15.2';
const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
export const natsServerPath = join(cache, 'divan', `nats-server-${natsVersionPinned}`, 'nats-server');

/** The version that the program reports; null if it cannot be run. */
export function natsVersionOf(path: string): string | null {
  try {
    const text = execFileSync(path, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return /v(\d+\.\d+\.\d+)/.exec(text)?.[1] ?? null;
  } catch {
    return null;
  }
}
