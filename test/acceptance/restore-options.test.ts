// What a restore writes and leaves out: dropped default collections, filters, expiry, ranges of backups.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type Bucket, type Cluster, connect } from 'couchbase';
import { backupNode, stateOf } from '../support/bucket-state.ts';
import { runCommand } from '../support/command.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';

describe('divan restore with options', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-restore-options-'));
  let node: NodeProcess;
  let cluster: Cluster;
  let bucket: Bucket;
  let folder = '';
  let count = 0;

  before(async () => {
    node = await NodeProcess.start();
    cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
  });
  beforeEach(async () => {
    folder = join(scratch, `repository-${count++}`);
    const access = backupNode(node);
    await access.createBucket(`b${count}`, { ramQuotaMB: 100, replicaNumber: 0, flushEnabled: 1 });
    await access.addCollections(`b${count}`, {
      scopes: [],
      collections: [{ scope: 'shop', name: 'items', maxTtl: 0 }],
    });
    bucket = cluster.bucket(`b${count}`);
  });
  after(async () => {
    await cluster?.close();
    await node?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  const divan = (...args: string[]) =>
    runCommand(args, { DIVAN_URL: node.ready.node.rest, DIVAN_PASSWORD: administrator.password });

  async function succeeds(...args: string[]): Promise<string> {
    const { status, out, error } = await divan(...args);
    assert.deepEqual([status, error], [0, ''], args.join(' '));
    return out;
  }

  const keysOf = async (name: string): Promise<string[]> =>
    [...(await stateOf(backupNode(node), name)).keys()].sort();

  it('leaves out the default collection where it was dropped, and says how to keep it', async () => {
    const { name } = bucket;
    await bucket.defaultCollection().upsert('a', 1);
    await bucket.defaultCollection().upsert('b', 2);
    await bucket.scope('shop').collection('items').upsert('c', 3);
    await succeeds('backup', folder, '--bucket', name);
    await node.request('/pools/default/buckets', 'POST', { name: 'dropped', ramQuota: '100' });
    await node.request('/pools/default/buckets/dropped/scopes/_default/collections/_default', 'DELETE');
    const restore = ['restore', folder, '--map', `${name}=dropped`];
    const out = await succeeds(...restore);
    assert.match(
      out,
      /_default: 2 documents were left out: collection dropped._default._default was dropped/,
    );
    assert.deepEqual(await keysOf('dropped'), ['shop.items/c']);
    assert.equal(JSON.parse(await succeeds(...restore, '--json')).buckets[0].leftOut, 2);
    const again = await succeeds(...restore, '--map', `${name}._default._default=dropped.shop.others`);
    assert.doesNotMatch(again, /left out/);
    assert.deepEqual(await keysOf('dropped'), ['shop.items/c', 'shop.others/a', 'shop.others/b']);
  });
});
