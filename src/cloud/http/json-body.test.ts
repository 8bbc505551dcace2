import assert from 'node:assert/strict';
import { test } from 'node:test';
import Fastify from 'fastify';
import { acceptJsonOnly } from './json-body.ts';

test('a body has at most 100,000 values', async (t) => {
  const app = Fastify();
  t.after(() => app.close());
  acceptJsonOnly(app);
  app.post('/', async ({ body }) => String((body as unknown[]).length));
  const answerTo = (values: number) =>
    app.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(Array(values).fill(1)),
    });
  assert.equal((await answerTo(100_000)).body, '100000');
  const refused = await answerTo(100_001);
  assert.match(refused.body, /at most 100000 values/);
});
