// Waits until a write to a vbucket succeeds on one of the nodes.
import { Status } from '../../src/wire/status.ts';
import { dataClient, set } from '../../test/support/data-client.ts';
import type { KvConnection } from '../../test/support/kv-connection.ts';
import type { NodeProcess } from '../../test/support/node-process.ts';

const limitMs = 60_000;
const pauseMs = 2;

/** Asks the nodes in turn; resolves after the first success, or as soon as `signal` is aborted. */
export async function untilWritten(
  nodes: readonly NodeProcess[],
  { vb, bucket, signal }: { vb: number; bucket: string; signal?: AbortSignal },
): Promise<void> {
  const clients = new Map<NodeProcess, KvConnection>();
  const deadlineMs = performance.now() + limitMs;
  const close = (): void => {
    for (const client of clients.values()) client.close();
  };
  while (performance.now() < deadlineMs) {
    for (const node of nodes) {
      if (signal?.aborted) return close();
      const status = await write(clients, node, vb, bucket).catch(() => null);
      if (status === null) clients.delete(node);
      if (status === Status.success) return close();
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new Error(`vbucket ${vb} could not be written for ${limitMs} ms`);
}

async function write(
  clients: Map<NodeProcess, KvConnection>,
  node: NodeProcess,
  vb: number,
  bucket: string,
): Promise<number> {
  const client = clients.get(node) ?? (await dataClient(node, bucket));
  clients.set(node, client);
  return (await client.ask(set('first', '1', { vb }))).status;
}
