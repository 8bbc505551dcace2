import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeCollections } from './collection-commands.ts';

test('the error of a statement contains the reason of the administration API, whichever form the answer of that API has', async () => {
  const text = 'Nothing was changed: the founder cannot be used now.';
  for (const body of [JSON.stringify([text]), JSON.stringify({ errors: { _: text } }), `${text}\n`]) {
    const rest = { request: async () => ({ status: 503, body }) };
    const given = { session: { credential: {} }, service: { deps: { rest } } };
    const command = { kind: 'CREATE_SCOPE', bucket: 'b', scope: 's', hasIfClause: false };
    await assert.rejects(changeCollections(command as never, given as never), {
      code: 12025,
      message: `Error while creating scope b.s: ${text}`,
    });
  }
});
