import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand, startCommand } from './command.ts';

test('commands in a process that is kept print and end as in a process of their own', async () => {
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
    for (const _ of ['a process', 'kept', 'kept'])
      assert.deepEqual(await runCommand(args, environment), expected, line);
  }
});
