import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { rebalanceIn } from './join-cluster.ts';

type Answer = readonly [status: number, body: unknown];

/** What a joining node prints; the cluster answers with `progress` to the questions for the progress, in order. */
async function printed(t: TestContext, started: Answer, progress: readonly Answer[] = []): Promise<string[]> {
  const left = [...progress];
  const server = createServer(({ url = '' }, response) => {
    const [status, body] =
      url === '/pools/default'
        ? ([200, { nodes: [{ otpNode: 'n_0@a' }, { otpNode: 'n_1@b' }] }] as const)
        : url === '/controller/rebalance'
          ? started
          : (left.shift() ?? ([200, { status: 'none' }] as const));
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const lines: string[] = [];
  const { port } = server.address() as AddressInfo;
  await rebalanceIn({ host: '127.0.0.1', port }, (line) => lines.push(line));
  return lines;
}

const half = { status: 'running', 'n_0@a': { progress: 0.25 }, 'n_1@b': { progress: 0.75 } };

describe('the rebalance of a node that joins', () => {
  it('is shown until its end, although the node refuses some questions for its progress', async (t) => {
    const progress: Answer[] = [
      [503, 'Limit of requests reached'],
      [200, half],
      [200, 'no JSON'],
      [200, half],
    ];
    assert.deepEqual(await printed(t, [200, ''], progress), ['Rebalance: 50 %', 'Rebalance: done']);
  });

  it('ends with the reason of its failure, and with that of a refusal', async (t) => {
    const failed = { status: 'none', errorMessage: 'Rebalance failed.' };
    assert.deepEqual(await printed(t, [200, ''], [[200, failed]]), ['Rebalance: Rebalance failed.']);
    assert.deepEqual(await printed(t, [503, '["Rebalance running."]']), [
      'The node holds no documents until a rebalance: Rebalance running.',
    ]);
  });
});
