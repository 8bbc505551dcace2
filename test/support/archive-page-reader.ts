// Reads a backup with the Python program that docs/reference/archive-format.md prints.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const page = fileURLToPath(new URL('../../docs/reference/archive-format.md', import.meta.url));
const outputBytesMax = 2 ** 28;

/** One line of JSON for each document. Throws with the output to stderr if the program fails. */
export function readByPageReader(backup: string, passphrase?: string): string[] {
  const program = /```python\n(.*?)```/s.exec(readFileSync(page, 'utf8'))?.[1];
  assert.ok(program, 'the page has no Python program');
  const output = execFileSync('python3', ['-c', program, backup], {
    env: { ...process.env, ...(passphrase !== undefined && { DIVAN_BACKUP_PASSPHRASE: passphrase }) },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: outputBytesMax,
  });
  return output.trim().split('\n');
}
