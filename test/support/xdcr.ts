// Two clusters of one node each, and what their buckets hold: every document and tombstone with its metadata, by collection name.

import assert from 'node:assert/strict';
import { hash, randomUUID } from 'node:crypto';
import { BucketClient } from '#client/bucket-client.ts';
import type { Change } from '#client/change.ts';
import { ChangeConnection } from '#client/change-connection.ts';
import { EndReason } from '#wire/dcp.ts';
import { Status } from '#wire/status.ts';
import { dataAddress } from './addresses.ts';
import { administrator, eventuallyWithin, type NodeProcess } from './node-process.ts';

/** The flags that SDKs give JSON documents. */
export const jsonFlags = 0x02000000;

export const bodyOf = async (response: Response): Promise<unknown> => {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as unknown;
};

export const hostOf = (node: NodeProcess): string => new URL(node.ready.node.rest).host;

/** The fields of a reference to a node. */
export const referenceTo = (node: NodeProcess, more: Record<string, string> = {}) => ({
  name: 'there',
  hostname: hostOf(node),
  ...administrator,
  ...more,
});

/** Replicates a bucket of one node to one of the other; returns the id. */
export async function replicate(
  from: NodeProcess,
  to: NodeProcess,
  more: Record<string, string> = {},
): Promise<string> {
  await from.request('/pools/default/remoteClusters', 'POST', referenceTo(to)).then(bodyOf);
  return await createReplication(from, more);
}

export async function createReplication(
  from: NodeProcess,
  more: Record<string, string> = {},
): Promise<string> {
  const fields = {
    fromBucket: 'b',
    toCluster: 'there',
    toBucket: 'b',
    replicationType: 'continuous',
    failureRestartInterval: '1',
    statsInterval: '200',
    ...more,
  };
  const created = await from.request('/controller/createReplication', 'POST', fields).then(bodyOf);
  return (created as { id: string }).id;
}

export interface XdcrTask {
  id: string;
  status: string;
  cancelURI: string;
  settingsURI: string;
  changesLeft: number;
  docsWritten: number;
  docsChecked: number;
  errors: string[];
}

export async function taskOf(node: NodeProcess): Promise<XdcrTask> {
  const tasks = (await node.request('/pools/default/tasks').then(bodyOf)) as (XdcrTask & { type: string })[];
  return tasks.find(({ type }) => type === 'xdcr') as XdcrTask;
}

/** The newest value of a figure of a replication, from the statistics of its bucket. */
export async function replicationFigure(
  node: NodeProcess,
  id: string,
  name: string,
): Promise<number | undefined> {
  const path = `/pools/default/buckets/b/stats/${encodeURIComponent(`replications/${id}/${name}`)}`;
  const { nodeStats } = (await node.request(path).then(bodyOf)) as { nodeStats: Record<string, number[]> };
  return Object.values(nodeStats)[0]?.at(-1);
}

/** How many versions replications have sent to the bucket, accepted or refused. */
export async function metaWrites(node: NodeProcess): Promise<number> {
  const client = await clientOf(node);
  const figures = await client.stats('');
  client.close();
  return Number(figures.get('ep_num_ops_set_meta')) + Number(figures.get('ep_num_ops_set_meta_res_fail'));
}

export const clientOf = (node: NodeProcess, bucket = 'b'): Promise<BucketClient> =>
  BucketClient.open({ address: dataAddress(node), account: administrator, bucket });

/** `contentOf` of all nodes, for a bucket that is spread over them. */
export async function contentOfAll(nodes: readonly NodeProcess[]): Promise<Map<string, string>> {
  const all = new Map<string, string>();
  for (const node of nodes) for (const [key, text] of await contentOf(node)) all.set(key, text);
  return all;
}

/** Every document and tombstone of the vbuckets that are active on the node: `scope.collection/key` → metadata and value (a long one as its hash), as text. */
export async function contentOf(node: NodeProcess, bucket = 'b'): Promise<Map<string, string>> {
  const client = await clientOf(node, bucket);
  const names = new Map<number, string>();
  const { scopes } = JSON.parse(await client.manifest()) as {
    scopes: { name: string; collections: { name: string; uid: string }[] }[];
  };
  for (const scope of scopes)
    for (const { name, uid } of scope.collections)
      names.set(Number.parseInt(uid, 16), `${scope.name}.${name}`);
  const seqnos = await client.highSeqnos();
  client.close();
  const found = new Map<string, string>();
  const ended = Promise.withResolvers<void>();
  const reasons = new Set<EndReason>();
  let open = 0;
  let isRequested = false;
  const connection = await ChangeConnection.open({
    address: dataAddress(node),
    account: administrator,
    bucket,
    name: `compare ${randomUUID()}`,
    withXattrs: true,
    withDeletedXattrs: true,
    handler: {
      change: (change) => found.set(`${names.get(change.collectionId)}/${change.key}`, textOf(change)),
      ended: (_vb, reason) => {
        reasons.add(reason);
        open--;
        if (open === 0 && isRequested) ended.resolve();
      },
      opened: () => {
        open++;
      },
      snapshot() {},
      advanced() {},
      event() {},
      drained() {},
    },
  });
  const from = { uuid: 0n, seqno: 0, snapshotStart: 0, snapshotEnd: 0 };
  // At once: a round trip for each would take most of the processor time of a test that compares often.
  const vbuckets = [...seqnos.keys()].filter((vb) => (seqnos[vb] as number) > 0);
  for (const reply of await Promise.all(
    vbuckets.map((vb) => connection.request(vb, { from, until: 'latest' })),
  ))
    if (reply.kind !== 'open') assert.equal((reply as { status: number }).status, Status.notMyVbucket);
  isRequested = true;
  const lost = open > 0 ? await Promise.race([ended.promise, connection.closed]) : undefined;
  connection.close();
  if (lost !== undefined) throw lost;
  reasons.delete(EndReason.finished);
  assert.deepEqual([...reasons], [], 'a stream ended early');
  return found;
}

/** Longer values are compared by their hash. */
const longBytes = 10_000;

function textOf(change: Change): string {
  const { kind, cas, rev, flags, isJson } = change;
  const bytes = change.buffer.subarray(change.xattrsStart, change.end);
  const value = bytes.length > longBytes ? hash('sha1', bytes) : bytes.toString('latin1');
  const expiry = kind === 'mutation' ? change.expiry : 0;
  return JSON.stringify({ kind, cas: String(cas), rev, flags, expiry, isJson, value });
}

/** How far the bucket of a node is. Its connection remains open: to log in would take most of the processor time of frequent calls. */
class ProgressReader implements Disposable {
  readonly #node: NodeProcess;
  #client: BucketClient | null = null;

  constructor(node: NodeProcess) {
    this.#node = node;
  }

  /** A text that differs after each change, and how many documents there are. */
  async read(): Promise<{ position: string; items: string | undefined }> {
    try {
      this.#client ??= await clientOf(this.#node);
      const [seqnos, histories, figures] = await Promise.all([
        this.#client.highSeqnos(),
        this.#client.historyDigest(),
        this.#client.stats(''),
      ]);
      return { position: `${histories} ${seqnos.join()}`, items: figures.get('curr_items') };
    } catch (error) {
      // The bucket may have been deleted, and made anew.
      this[Symbol.dispose]();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#client?.close();
    this.#client = null;
  }
}

/** After so many attempts without a change the contents are read all the same: only they decide. */
const attemptsPerRead = 20;

/**
 * Waits until `check` accepts the content of the bucket on each node. Reading contents is most of the processor time of a test, so that
 * they are read once the buckets have stopped changing, and, with `isEqual`, have equally many documents.
 */
export async function whenContents<T>(
  nodes: readonly NodeProcess[],
  check: (contents: Map<string, string>[]) => T,
  { withinMs = 180_000, isEqual = false } = {},
): Promise<T> {
  let last = '';
  let attempts = 0;
  using readers = new DisposableStack();
  const progressOfNodes = nodes.map((node) => readers.use(new ProgressReader(node)));
  return await eventuallyWithin(withinMs, async () => {
    const progress = await Promise.all(progressOfNodes.map((one) => one.read()));
    const position = progress.map((one) => one.position).join();
    attempts = position === last ? attempts + 1 : 0;
    last = position;
    const items = new Set(progress.map((one) => one.items));
    const isReached = attempts === 1 && (!isEqual || items.size === 1);
    assert.ok(isReached || attempts % attemptsPerRead === attemptsPerRead - 1, 'the buckets still change');
    const contents: Map<string, string>[] = [];
    for (const node of nodes) contents.push(await contentOf(node));
    return check(contents);
  });
}

/** Waits until the buckets of both nodes have the same documents, and returns these. */
export const whenEqual = (
  one: NodeProcess,
  other: NodeProcess,
  withinMs = 180_000,
): Promise<Map<string, string>> =>
  whenContents(
    [one, other],
    ([first = new Map(), second = new Map()]) => {
      assert.deepEqual([first.size, differences(first, second)], [second.size, []]);
      return first;
    },
    { withinMs, isEqual: true },
  );

export function differences(one: Map<string, string>, other: Map<string, string>): unknown[] {
  return [...one]
    .filter(([key, text]) => other.get(key) !== text)
    .slice(0, 3)
    .map(([key, text]) => [key, text, other.get(key)]);
}
