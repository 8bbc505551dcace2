// The README's command for tests works as it is written there, with the init file that it shows.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { NodeProcess } from '../support/node-process.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

test('the command for tests in the README starts a node with what its init file names', async (t) => {
  const [, command = '', init = ''] =
    /^ {4}npx divan node (.*) --ready-file ready\.json$.*?^```json\n(.*?)^```$/ms.exec(readme) ?? [];
  assert.ok(command.includes('--init init.json'), 'the command does not take the init file');
  const folder = mkdtempSync(join(tmpdir(), 'divan-readme-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'init.json');
  writeFileSync(file, init);
  const args = command.replace('init.json', file).split(' ');
  await using node = await NodeProcess.start({ unprovisioned: true, args });
  const { user, value, path } = shownIn(init);
  const authorization = `Basic ${Buffer.from(`${user.name}:${user.password}`).toString('base64')}`;
  const answer = await fetch(`${node.ready.node.rest}${path}`, { headers: { authorization } });
  assert.equal(answer.status, 200);
  const { json } = (await answer.json()) as { json: string };
  assert.deepEqual(JSON.parse(json), value);
});

/** The first user and document of an init file. */
function shownIn(init: string) {
  const { buckets, users } = JSON.parse(init);
  const { key, value, scope, collection } = buckets[0].documents[0];
  const collectionPath = `scopes/${scope}/collections/${collection}`;
  return {
    user: users[0],
    value,
    path: `/pools/default/buckets/${buckets[0].name}/${collectionPath}/docs/${key}`,
  };
}
