import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ExitStatus } from '../exit-status.ts';
import { runOperatorCommand } from './commands.ts';

test('a user, token or project that does not exist has the exit status for what is missing', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-operator-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const run = (...args: string[]) => runOperatorCommand([...args, '--data-dir', folder]);
  await run('user', 'add', 'Ada', 'ada@example.com');
  for (const [args, message] of [
    [['user', 'remove', 'bob@example.com'], 'there is no user bob@example.com'],
    [['token', 'revoke', 'unknown'], 'there is no valid token unknown'],
    [['token', 'create', '--role', 'projectOwner', '--project', 'p'], '--project: there is no project p'],
  ] as const)
    await assert.rejects(run(...args), { message, status: ExitStatus.missing });
  const second = run('user', 'add', 'Ada', 'ada@example.com');
  await assert.rejects(second, { status: ExitStatus.failure });
});
