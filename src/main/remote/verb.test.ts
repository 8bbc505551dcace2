import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runBackupCommand } from '../backup/run-backup-command.ts';
import { UsageError } from '../options.ts';
import { runVerb, verb } from './verb.ts';

const refused = (run: () => Promise<void>, text: RegExp) =>
  assert.rejects(run, (error) => error instanceof UsageError && text.test(error.message));

test('an option before a verb is refused, and the refusal shows the right order', async () => {
  const verbs = [verb('list', '', {}, async () => null), verb('create NAME', '', {}, async () => null)];
  await refused(
    () => runVerb('bucket', verbs, ['--json', 'list']),
    /the verb comes first: divan bucket list/,
  );
  await refused(() => runVerb('bucket', verbs, ['--json', 'lst']), /the verbs are list, create/);
  await refused(() => runBackupCommand(['--json', 'list', 'x']), /the verb comes first: divan backup list/);
  // `list` is read as the verb, not as a folder of this name, which has to be given as `./list`.
  await refused(() => runBackupCommand(['--full', 'list']), /comes first: divan backup list .*\.\/list/);
});
