// What a restore writes and leaves out: dropped default collections, filters, expiry, ranges of backups.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Bucket, Cluster } from 'couchbase';
import { backupNode, stateOf } from '../support/bucket-state.ts';
import { runCommand } from '../support/command.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

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

  /** What a command prints that ends with the status of a part of the work. */
  async function partOf(...args: string[]): Promise<string> {
    const { status, out, error } = await divan(...args);
    assert.deepEqual([status, error], [3, ''], args.join(' '));
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
    const out = await partOf(...restore);
    assert.match(
      out,
      /_default: 2 documents were left out: collection dropped._default._default was dropped/,
    );
    assert.deepEqual(await keysOf('dropped'), ['shop.items/c']);
    assert.equal(JSON.parse(await partOf(...restore, '--json')).buckets[0].leftOut, 2);
    const again = await succeeds(...restore, '--map', `${name}._default._default=dropped.shop.others`);
    assert.doesNotMatch(again, /left out/);
    assert.deepEqual(await keysOf('dropped'), ['shop.items/c', 'shop.others/a', 'shop.others/b']);
  });

  const restored = async (...options: string[]): Promise<string[]> => {
    await succeeds('restore', folder, '--replace', '--bucket', bucket.name, ...options);
    return (await keysOf(bucket.name)).map((key) => key.replace('_default._default/', ''));
  };

  it('restores the documents whose key or value matches', async () => {
    const { name } = bucket;
    const documents = bucket.defaultCollection();
    await documents.upsert('order-1', { total: 5, to: 'Ärzte' });
    await documents.upsert('order-2', { total: 70 });
    await documents.upsert('user-1', { name: 'order' });
    await documents.upsert('binary', Buffer.from('total'));
    await documents.upsert('order-3', {});
    await documents.remove('order-3');
    await succeeds('backup', folder, '--bucket', name);
    assert.deepEqual(await restored('--filter-keys', '^order'), ['order-1', 'order-2', 'order-3']);
    assert.deepEqual(await restored('--filter-values', '"total":'), ['order-1', 'order-2']);
    assert.deepEqual(await restored('--filter-values', 'Ä'), ['order-1']);
    const both = ['--filter-keys', '-1$', '--filter-values', 'order'];
    assert.deepEqual(await restored(...both), ['user-1']);
    const out = await succeeds('restore', folder, ...both);
    assert.match(out, /1 document, 0 deletions; 1 of them skipped.*; 4 others left out by the filters/);
    for (const [options, expected] of [
      [['--filter-keys', '('], /--filter-keys: .*; expected a regular expression in the syntax of RE2/],
      [['--filter-values', '(?=a)'], /--filter-values: .*RE2/],
      [['--filter-keys', 'x'.repeat(1_001)], /--filter-keys: at most 1000 characters/],
      [['--filter-keys', '((a{100}){100}){10}'], /--filter-keys: /],
    ] as const) {
      const { status, error } = await divan('restore', folder, ...options);
      assert.equal(status, 1);
      assert.match(error, expected);
    }
  });

  it('matches in linear time an expression that backtracking engines never finish', async () => {
    await bucket.defaultCollection().upsert('k', 'a'.repeat(200_000));
    await succeeds('backup', folder, '--bucket', bucket.name);
    assert.deepEqual(await restored('--filter-values', '^"(a+)+$'), []);
  });

  it('replaces the expiry of all documents, or of those that have expired', async () => {
    const { name } = bucket;
    const documents = bucket.defaultCollection();
    await documents.upsert('long', 1, { expiry: 100_000 });
    await documents.upsert('never', 1);
    // Repeated, since on a busy machine the document may expire before the backup finds it.
    let exported = '';
    for (let seconds = 4; !exported.includes('"key":"short"'); seconds *= 2) {
      await documents.upsert('short', 1, { expiry: seconds });
      await succeeds('backup', folder, '--bucket', name, '--full');
      exported = await succeeds('backup', 'export', folder);
    }
    await eventually(async () => assert.equal((await documents.exists('short')).exists, false));
    const expiries = async () =>
      Object.fromEntries(
        [...(await stateOf(backupNode(node), name))].map(([key, { expiry, kind }]) => [
          key.replace('_default._default/', ''),
          kind === 'mutation' ? expiry : kind,
        ]),
      );
    await succeeds('restore', folder, '--replace', '--replace-ttl', 'expired');
    const { short, long, never } = await expiries();
    assert.deepEqual([short, never], [0, 0]);
    assert.ok(Number(long) > 0);
    const all = ['--replace-ttl', 'all', '--replace-ttl-with', '2090-01-01T00:00:00+01:00'];
    await succeeds('restore', folder, '--replace', ...all);
    const expected = Date.parse('2090-01-01T00:00:00+01:00') / 1000;
    assert.deepEqual(await expiries(), { short: expected, long: expected, never: expected });
    for (const time of ['soon', '2090-01-01', '1960-01-01T00:00:00Z', '2190-01-01T00:00:00Z']) {
      const wrong = await divan('restore', folder, '--replace-ttl', 'all', '--replace-ttl-with', time);
      assert.equal(wrong.status, 2);
      assert.match(wrong.error, /is not 0 or a time of RFC 3339/);
    }
    const alone = await divan('restore', folder, '--replace-ttl-with', '2090-01-01T00:00:00Z');
    assert.match(alone.error, /give --replace-ttl all or --replace-ttl expired too/);
  });

  it('restores only the changes of the backups from --start to --end', async () => {
    const { name } = bucket;
    const documents = bucket.defaultCollection();
    const names: string[] = [];
    for (const key of ['first', 'second', 'third', 'fourth']) {
      await documents.upsert(key, names.length);
      if (key === 'third') await documents.upsert('second', 'changed');
      names.push(JSON.parse(await succeeds('backup', folder, '--bucket', name, '--json')).backup);
    }
    const [, second = '', third = ''] = names;
    assert.deepEqual(await restored('--start', second, '--end', third), ['second', 'third']);
    assert.equal((await documents.get('second')).content, 'changed');
    assert.deepEqual(await restored('--start', third), ['fourth', 'second', 'third']);
    assert.deepEqual(await restored('--end', second), ['first', 'second']);
    const late = await divan('restore', folder, '--start', third, '--end', second);
    assert.match(late.error, /--start: backup .* is newer than the last one/);
    const unknown = await divan('restore', folder, '--start', 'none');
    assert.match(unknown.error, /has no complete backup "none"/);
    const twice = await divan('restore', folder, '--backup', second, '--end', second);
    assert.equal(twice.status, 2);
    assert.match(twice.error, /mean the same/);
  });
});
