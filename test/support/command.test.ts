import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand, startCommand } from './command.ts';

test('a command in a reused process prints and ends as in a process of its own', async () => {
  for (const [line, environment] of [
    ['--version', {}],
    ['bucket list --none', {}],
    ['bucket list --url http://127.0.0.1:1 --username a --password b', {}],
    ['bucket list', { DIVAN_URL: 'nowhere', DIVAN_PASSWORD: 'b' }],
    ['backup list /nowhere', {}],
    ['doctor --rest-port x', {}],
  ] as const) {
    const args = line.split(' ');
    const expected = await startCommand(args, environment).ended;
    assert.equal(expected.out.length + expected.error.length > 0, true, line);
    for (let run = 0; run < 3; run++) assert.deepEqual(await runCommand(args, environment), expected, line);
  }
});
