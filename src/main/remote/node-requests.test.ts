// What verbs ask a node for, and what they make of its answers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { CommandError, ExitStatus } from '../exit-status.ts';
import { bucketVerbs } from './bucket-verbs.ts';
import { docVerbs } from './doc-verbs.ts';
import { metricsVerbs } from './observe-verbs.ts';
import { nameOf, type Verb } from './verb.ts';

/** A node that answers every request with the result for its path, and the requests that it got. */
async function aNode(t: TestContext, answer: (path: URL) => unknown) {
  const requests: { url: string; body: string }[] = [];
  const node = createServer(async (request, response) => {
    requests.push({ url: request.url ?? '', body: await text(request) });
    response.end(JSON.stringify(answer(new URL(request.url ?? '', 'http://node'))));
  });
  node.listen(0, '127.0.0.1');
  await once(node, 'listening');
  t.after(() => node.close());
  const { port } = node.address() as AddressInfo;
  return { requests, options: { url: `http://127.0.0.1:${port}`, username: 'a', password: 'b' } };
}

const run = (verbs: readonly Verb[], name: string, options: object, words: readonly string[]) =>
  (verbs.find((verb) => nameOf(verb) === name) as Verb).run(options as never, words);

test('divan doc list asks for no more keys than a node lists', async (t) => {
  const { requests, options } = await aNode(t, () => ({ rows: [{ id: 'a' }, { id: 'b' }] }));
  const given = { ...options, scope: 's', collection: 'c', prefix: '', values: false };
  for (const limit of [1, 10_000]) await run(docVerbs, 'list', { ...given, limit, after: 'a' }, ['b']);
  const limits = requests.map(({ url }) => new URL(url, 'http://node').searchParams.get('limit'));
  assert.deepEqual(limits, ['2', '10000']);
});

test('divan doc list fills the largest page also where the answer begins with the key before it', async (t) => {
  const keys = Array.from({ length: 10_002 }, (_, n) => String(n).padStart(5, '0'));
  const { options } = await aNode(t, ({ searchParams }) => {
    const start = JSON.parse(searchParams.get('startkey') ?? '');
    const rows = keys.filter((key) => key >= start).map((id) => ({ id }));
    return { rows: rows.slice(0, Number(searchParams.get('limit'))) };
  });
  const given = { ...options, scope: 's', collection: 'c', prefix: '', values: false, limit: 10_000 };
  for (const after of [undefined, '00000', '000005']) {
    const listed = await run(docVerbs, 'list', { ...given, after }, ['b']);
    const expected = keys.filter((key) => after === undefined || key > after).slice(0, 10_000);
    assert.equal(listed?.text, expected.join('\n'), after);
  }
});

test('divan metrics shows why a node has no values', async (t) => {
  const over = async (error: string) => {
    const { options } = await aNode(t, () => ({ data: [], errors: [{ node: 'n', error }] }));
    return run(metricsVerbs, '', { ...options, since: 60, step: 10 }, ['m']);
  };
  const isRefused = (status: number, problem: RegExp) => (error: Error) =>
    error instanceof CommandError && error.status === status && problem.test(error.message);
  await assert.rejects(
    over('unknown function "foo"'),
    isRefused(ExitStatus.failure, /unknown function "foo"/),
  );
  await assert.rejects(over('unknown metric "m"'), isRefused(ExitStatus.missing, /unknown metric "m"/));
});

test('divan bucket create passes the replicas of a bucket that can have none on, so that the node refuses them', async (t) => {
  const bucket = { name: 'm', bucketType: 'memcached', quota: { rawRAM: 1 }, basicStats: {}, nodes: [] };
  const { requests, options } = await aNode(t, () => bucket);
  const forms = async (given: object) => {
    await run(bucketVerbs, 'create', { ...options, ...given }, ['m']);
    return new URLSearchParams(requests.splice(0)[0]?.body).get('replicaNumber');
  };
  assert.equal(await forms({ type: 'memcached' }), null);
  assert.equal(await forms({ type: 'memcached', replicas: 1 }), '1');
  assert.equal(await forms({ type: 'couchbase' }), '0');
});
