import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../options.ts';
import { runBackupCommand } from './run-backup-command.ts';
import { runRestoreCommand } from './run-restore-command.ts';

test('the passphrase and the password are not both read from standard input', async () => {
  const problem = '--passphrase-file and --password-file: both name standard input';
  for (const run of [runBackupCommand, runRestoreCommand])
    await assert.rejects(
      async () => run(['folder', '--password-file', '-', '--passphrase-file', '-']),
      (error) => error instanceof UsageError && error.message === problem,
    );
});
