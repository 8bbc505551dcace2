// Replication between two clusters of real processes under faults: exact equality of many documents over several collections, then both
// directions with conflicts while the nodes are killed in turn. `node test/stress/xdcr.ts [documents]`, default 100,000, once for each
// type of conflict resolution. Prints what the run found, and fails at the first difference.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BucketClient, StoreRequest } from '#client/bucket-client.ts';
import { Status } from '#wire/status.ts';
import { PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { freePort } from '../support/free-port.ts';
import { eventually, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { bodyOf, clientOf, jsonFlags, replicate, whenEqual } from '../support/xdcr.ts';

const collections = ['_default._default', 's.one', 's.two', 's.three'];
const waitMs = 1_800_000;
const faultRounds = 4;
/** The flag of a sub-document write that creates the document. */
const createDocument = 0x01;

type Kind = 'plain' | 'expiring' | 'binary' | 'attribute';
const kinds: readonly Kind[] = ['plain', 'expiring', 'binary', 'attribute', 'plain'];

function aDocument(index: number, writer: string): StoreRequest {
  const kind = kinds[index % kinds.length] as Kind;
  const base = { key: `key-${index}`, cas: 0n, expiry: 0, flags: jsonFlags };
  const value = Buffer.from(JSON.stringify({ index, writer, text: 'x'.repeat(index % 300) }));
  if (kind === 'binary') return { ...base, kind: 'set', value: Buffer.from([255, index & 255, 7]), flags: 5 };
  const expiry = kind === 'expiring' ? Math.floor(Date.now() / 1000) + 1_000_000 + index : 0;
  if (kind !== 'attribute') return { ...base, kind: 'set', value, expiry };
  const attribute = {
    opcode: SubdocOpcode.dictUpsert,
    flags: PathFlag.xattr,
    path: 'own',
    value: Buffer.from(`{"w":"${writer}"}`),
  };
  return {
    ...base,
    kind: 'set',
    value: Buffer.alloc(0),
    parts: { writes: [attribute], docFlags: createDocument },
  };
}

const range = (from: number, to: number, writer: string): StoreRequest[] =>
  Array.from({ length: to - from }, (_, index) => aDocument(from + index, writer));

const removals = (from: number, to: number): StoreRequest[] =>
  range(from, to, '').map(({ key }) => ({ kind: 'remove', key, value: Buffer.alloc(0), cas: 0n, expiry: 0 }));

/** Success, and the status of the removal of a document that does not exist. */
const expectedStatuses: readonly number[] = [Status.success, Status.keyNotFound];

async function store(node: NodeProcess, path: string, requests: readonly StoreRequest[]): Promise<void> {
  const client = await clientOf(node);
  try {
    const [scope = '', name = ''] = path.split('.');
    const id = (await client.collectionId(scope, name)) as number;
    for (let at = 0; at < requests.length; at += 2000)
      await storeBatch(client, id, requests.slice(at, at + 2000));
  } finally {
    client.close();
  }
}

/** Repeats what a node refuses for the moment, as while it warms up. */
async function storeBatch(client: BucketClient, id: number, batch: readonly StoreRequest[]): Promise<void> {
  let left = batch;
  const refusals: number[] = [];
  await eventuallyWithin(waitMs, async () => {
    const replies = await client.storeMany(id, left);
    left = left.filter((_, index) => replies[index]?.status === Status.temporaryFailure);
    for (const { status } of replies)
      if (status !== Status.temporaryFailure && !expectedStatuses.includes(status)) refusals.push(status);
    assert.equal(left.length, 0);
  });
  assert.deepEqual(refusals, []);
}

/** A cluster of one node, which is killed and started again with the same ports and data. */
class Cluster implements AsyncDisposable {
  node: NodeProcess | null = null;
  private readonly dataDir = mkdtempSync(join(tmpdir(), 'divan-xdcr-stress-'));
  private ports: Record<string, number> = {};

  async start(): Promise<NodeProcess> {
    if (this.ports['rest'] === undefined) this.ports = { rest: await freePort(), kv: await freePort() };
    this.node = await NodeProcess.start({ dataDir: this.dataDir, ports: this.ports });
    return this.node;
  }

  async killAndRestart(): Promise<NodeProcess> {
    await this.node?.stop('SIGKILL');
    return await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node?.stop('SIGKILL');
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

async function createBucket(node: NodeProcess, conflictResolutionType: string): Promise<void> {
  const form = { name: 'b', ramQuotaMB: '256', replicaNumber: '0', conflictResolutionType };
  assert.equal((await node.request('/pools/default/buckets', 'POST', form)).status, 202);
  await eventually(async () => (await clientOf(node)).close());
  await node.request('/pools/default/buckets/b/scopes', 'POST', { name: 's' }).then(bodyOf);
  for (const name of ['one', 'two', 'three'])
    await node.request('/pools/default/buckets/b/scopes/s/collections', 'POST', { name }).then(bodyOf);
}

async function run(type: string, count: number): Promise<void> {
  await using one = new Cluster();
  await using other = new Cluster();
  let [source, target] = [await one.start(), await other.start()];
  for (const node of [source, target]) await createBucket(node, type);
  const share = Math.floor(count / collections.length);
  const startMs = Date.now();
  for (const path of collections) await store(source, path, range(0, share, 'one'));
  for (const path of collections) await store(source, path, removals(0, Math.floor(share / 20)));
  await replicate(source, target);
  const exact = await whenEqual(source, target, waitMs);
  assert.equal(exact.size, share * collections.length);
  console.log(`${type}: ${exact.size} documents and deletions are equal, ${seconds(startMs)} s`);
  await replicate(target, source);
  for (let round = 0; round < faultRounds; round++) {
    const from = Math.floor((share / faultRounds) * round);
    const to = Math.min(share, from + Math.floor(share / 2));
    await Promise.all(
      collections.flatMap((path) => [
        store(source, path, range(from, to, `one ${round}`)),
        store(target, path, range(from, to, `other ${round}`)),
      ]),
    );
    // The nodes are killed and restarted in turn; then documents are removed at the node that was not killed.
    if (round % 2 === 0) target = await other.killAndRestart();
    else source = await one.killAndRestart();
    await store(round % 2 === 0 ? source : target, 's.one', removals(from, from + 100));
    console.log(`${type}: round ${round + 1} of ${faultRounds}, ${seconds(startMs)} s`);
  }
  const found = await whenEqual(source, target, waitMs);
  console.log(
    `${type}: ${found.size} documents and deletions are equal on both sides, ${seconds(startMs)} s`,
  );
}

const seconds = (startMs: number): string => ((Date.now() - startMs) / 1000).toFixed(0);

const count = Number(process.argv[2] ?? 100_000);
for (const type of ['seqno', 'lww']) await run(type, count);
