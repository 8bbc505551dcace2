// The administration API of a node with one bucket and with thirty: reads and a change, compared with a constant answer.
// Goal: 20 ms for the list of thirty buckets on a quiet machine.
import { administrator, NodeProcess } from '../test/support/node-process.ts';
import { load } from './support/http-load.ts';
import { processMs } from './support/server-usage.ts';

const bucketQuotaMb = 100;
const { username, password } = administrator;
const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

interface Request {
  path: string;
  /** A form to send. */
  form?: string;
}

const requests: readonly Request[] = [
  { path: '/versions' },
  { path: '/pools/default' },
  { path: '/pools/default/buckets/b1' },
  { path: '/pools/default/buckets' },
  { path: '/pools/default/buckets?skipMap=true' },
  { path: '/settings/stats', form: 'sendStats=false' },
];

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  await using node = await NodeProcess.start();
  const bucketCount = smoke ? 3 : 30;
  await node.request('/pools/default', 'POST', { memoryQuota: `${bucketCount * bucketQuotaMb}` });
  const ms = smoke ? 50 : 5_000;
  await addBuckets(node, 1, 1);
  await measure(node, 'one bucket', ms);
  await addBuckets(node, 2, bucketCount);
  await measure(node, `${bucketCount} buckets`, ms);
}

async function addBuckets(node: NodeProcess, from: number, to: number): Promise<void> {
  for (let i = from; i <= to; i++) {
    const form = { name: `b${i}`, ramQuotaMB: `${bucketQuotaMb}`, replicaNumber: '0' };
    const { status } = await node.request('/pools/default/buckets', 'POST', form);
    if (status !== 202) throw new Error(`bucket ${i}: ${status}`);
  }
}

async function measure(node: NodeProcess, what: string, ms: number): Promise<void> {
  for (const { path, form } of requests) {
    const url = new URL(path, node.ready.node.rest);
    const sent = { url, authorization, ...(form !== undefined && { form }), connections: 1 };
    await load({ ...sent, ms: ms / 4 });
    const cpuBeforeMs = processMs(node.pid);
    const { perSecond, bytes, p50Ms, p99Ms } = await load({ ...sent, ms });
    const each = (processMs(node.pid) - cpuBeforeMs) / ((perSecond * ms) / 1000);
    console.log(
      `${what}: ${form === undefined ? 'GET' : 'POST'} ${path} ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, ${each.toFixed(2)} ms of processor time, ${bytes} bytes`,
    );
  }
}
