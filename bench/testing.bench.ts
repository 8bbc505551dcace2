// What a test suite waits for: startNode() until a bucket can be used, and reset() after a test that has changed a few documents.

import { KvClient } from '../src/client/kv.adapter.ts';
import { startNode } from '../src/testing/testing.ts';
import type { TestNode } from '../src/testing/types.ts';
import { portNumber } from '../test/support/addresses.ts';

const account = { username: 'Administrator', password: 'password' };
const buckets = [{ name: 'b', documents: [{ key: 'kept', value: 1 }] }];

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const starts: number[] = [];
  for (let round = 0; round < (smoke ? 1 : 11); round++) {
    const startedMs = performance.now();
    await using node = await startNode({ buckets });
    const client = await clientOf(node);
    await client.set({ collectionId: 0, key: 'a' }, Buffer.from('1'), 0, 1_000);
    starts.push(performance.now() - startedMs);
    client.close();
  }
  print('startNode() until a document is stored', starts, 600);
  await using node = await startNode({ buckets });
  const client = await clientOf(node);
  print('reset() without a change', await resets(node, smoke, async () => {}), 20);
  const change = async (): Promise<void> => {
    for (const key of ['kept', ...Array.from({ length: 9 }, (_, at) => `key ${at}`)])
      await client.set({ collectionId: 0, key }, Buffer.from('2'), 0, 1_000);
  };
  print('reset() after ten changed documents', await resets(node, smoke, change), 20);
  client.close();
}

async function resets(node: TestNode, smoke: boolean, change: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < (smoke ? 2 : 200); round++) {
    await change();
    const startedMs = performance.now();
    await node.reset();
    times.push(performance.now() - startedMs);
  }
  return times;
}

async function clientOf({ addresses }: TestNode): Promise<KvClient> {
  const client = await KvClient.open('127.0.0.1', portNumber(addresses.kv), 10_000);
  await client.login(account.username, account.password);
  await client.select('b');
  return client;
}

function print(what: string, times: number[], goalMs: number): void {
  times.sort((a, b) => a - b);
  const quantile = (share: number): string =>
    (times[Math.floor((times.length - 1) * share)] as number).toFixed(1);
  console.log(
    `${what}: median ${quantile(0.5)} ms (goal ${goalMs}), best ${quantile(0)} ms, 90 % below ${quantile(0.9)} ms`,
  );
}
