// What a restore flushes, drops and creates before and after the documents, on a node that records it.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { hexId, realRandom } from '#ports/random.ts';
import { aManifest } from '../../../test/support/a-manifest.ts';
import { DataWriter } from '../archive/data-file.adapter.ts';
import { Repository } from '../archive/repository.adapter.ts';
import type { BackupManifest, BucketRecord, IndexRecord } from '../format/manifest.ts';
import { BackupNode, type NodeBucket } from '../node/backup-node.ts';
import { type RestoreRequest, type RestoreResult, runRestore } from './run-restore.adapter.ts';

/** A node without data ports, whose buckets have two collections. */
class RecordingNode extends BackupNode {
  readonly calls: string[] = [];
  /** Scopes that the buckets should have. */
  readonly added: string[] = [];
  readonly flushDisabled = new Set<string>();
  cluster = 'c';
  /** Called before the first request about a bucket. */
  asking: () => void = () => {};
  /** Called before each flush. */
  flushing: (bucket: string) => void = () => {};

  constructor(host = '127.0.0.1') {
    super({ host, port: 1, username: 'u', password: 'p' });
  }

  override identity = async () => ({ cluster: this.cluster, version: '' });
  override bucket = async (name: string): Promise<NodeBucket> => {
    this.asking();
    return {
      name,
      uuid: name,
      settings: { flushEnabled: this.flushDisabled.has(name) ? 0 : 1 },
      itemCount: 0,
    };
  };
  override addCollections = async (bucket: string, { scopes }: { scopes: readonly string[] }) =>
    void this.added.push(...scopes.map((scope) => `${bucket}.${scope}`));
  override scopes = async () => ({ scopes: ['shop'], collections: ['items', 'carts'].map(collection) });
  override indexes = async () => [];
  override routes = async (bucket: string) => {
    this.calls.push(`write ${bucket}`);
    return [];
  };
  override flush = async (bucket: string) => {
    this.flushing(bucket);
    this.calls.push(`flush ${bucket}`);
  };
  override dropScope = async ({ scope }: { scope: string }) => void this.calls.push(`drop ${scope}`);
  override dropCollection = async (path: { scope: string; collection: string }) =>
    void this.calls.push(`drop ${path.scope}.${path.collection}`);
  override runStatement = async (statement: string) => {
    this.calls.push(statement);
    return null;
  };
}

const collection = (name: string, index: number) => ({ id: 8 + index, scope: 'shop', name, maxTtl: 0 });

let folder = '';
let node: RecordingNode;
let cancelled: AbortController;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'divan-run-restore-'));
  node = new RecordingNode();
  cancelled = new AbortController();
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Adds a backup of empty buckets; it continues the newest one. */
function addBackupOf(...changes: (Partial<BucketRecord> & { name: string })[]): void {
  const repository = Repository.openOrCreate(folder, realRandom);
  const newest = repository.complete().at(-1);
  const after = newest === undefined ? null : { name: newest, id: repository.manifest(newest).id };
  const interrupted = repository.begin(realClock, hexId(realRandom), { after, buckets: [] });
  const [bucket] = aManifest().buckets as [BucketRecord];
  const collections = ['items', 'carts'].map(collection);
  const buckets = changes.map((change) => ({ ...bucket, scopes: ['shop'], collections, ...change }));
  for (const index of buckets.keys()) {
    const writer = DataWriter.create(
      repository.dataPath(interrupted, index),
      repository.dataOwner(interrupted, index),
    );
    writer.sync();
    writer.close();
  }
  const { id, name } = interrupted;
  const type: BackupManifest['type'] = after === null ? 'full' : 'incremental';
  repository.finish({ ...aManifest(), id, name, type, after, repository: repository.id, buckets });
}

const restore = (changes: Partial<RestoreRequest> = {}): Promise<RestoreResult> =>
  runRestore(
    {
      folder,
      buckets: [],
      map: [],
      replaces: false,
      isForced: false,
      createsBuckets: true,
      withIndexes: true,
      resumes: false,
      awaitsDisk: false,
      ...changes,
    },
    { node, clock: realClock, signal: cancelled.signal, progress: () => {} },
  );

describe('a restore of two collections to one', () => {
  beforeEach(() => addBackupOf({ name: 'a' }, { name: 'b' }));

  it('is refused, since documents of one would replace or delete those of the other', async () => {
    const both = /--map: a\.shop\.items and b\.shop\.items would both be restored to c\.shop\.items/;
    await assert.rejects(restore({ map: ['a=c', 'b=c'] }), both);
    await assert.rejects(
      restore({ map: ['a.shop.items=a.shop.carts'] }),
      /a\.shop\.items and a\.shop\.carts would both be restored to a\.shop\.carts/,
    );
    assert.deepEqual(node.calls, []);
  });

  it('is possible where only one of them is restored, or both change places', async () => {
    await restore({ map: ['a=c', 'b=c'], buckets: ['a'] });
    await restore({ map: ['a=c', 'b=c'], excludes: ['b.shop.items', 'b.shop.carts'] });
    await restore({ map: ['a.shop.items=a.shop.carts', 'a.shop.carts=a.shop.items'] });
  });
});

describe('a restore that replaces the documents of buckets', () => {
  const all = ['flush a', 'flush b', 'write a', 'write b'];
  const records = () => readdirSync(folder).filter((name) => name.startsWith('restore-'));
  /** From now on the flush of this bucket fails; with an empty name no flush fails. */
  const interrupt = (bucket: string) => {
    node.flushing = (name) => {
      if (name === bucket) throw new Error('the node is gone');
    };
  };

  beforeEach(() => addBackupOf({ name: 'a' }, { name: 'b' }));

  it('flushes all of them before it writes to the first', async () => {
    await restore({ replaces: true });
    assert.deepEqual(node.calls, all);
    assert.deepEqual(records(), []);
  });

  it('flushes none if one of them cannot be flushed, or the backup is damaged', async () => {
    node.flushDisabled.add('b');
    await assert.rejects(restore({ replaces: true }), /flush is not enabled for bucket "b"/);
    node.flushDisabled.clear();
    const [name = ''] = readdirSync(folder).filter((one) => one.startsWith('2'));
    rmSync(join(folder, name, '1.data'));
    await assert.rejects(restore({ replaces: true }), /1\.data/);
    assert.deepEqual(node.calls, []);
  });

  it('flushes the others once it is resumed, and none a second time', async () => {
    interrupt('b');
    await assert.rejects(
      restore({ replaces: true }),
      /the node is gone \(1 of 2 buckets were flushed; --resume continues\)/,
    );
    interrupt('');
    await restore({ resumes: true });
    assert.deepEqual(node.calls, all);
    assert.deepEqual(records(), []);
  });

  it('flushes all of them when it is resumed after it ended before the first flush', async () => {
    node.asking = () => {
      throw new Error('killed');
    };
    await assert.rejects(restore({ replaces: true }), /killed/);
    node.asking = () => {};
    await restore({ resumes: true });
    assert.deepEqual(node.calls, all);
  });

  it('is resumed through another address of the same cluster', async () => {
    interrupt('b');
    await assert.rejects(restore({ replaces: true }));
    const { calls } = node;
    node = new RecordingNode('localhost');
    await restore({ resumes: true });
    assert.deepEqual([...calls, ...node.calls], all);
  });

  it('is not resumed by a restore of another backup, into another cluster or under other names; the refusal names it', async () => {
    interrupt('a');
    await assert.rejects(restore({ replaces: true }));
    interrupt('');
    const [backup = ''] = Repository.open(folder).complete();
    const nothing = 'nothing to resume; repeat the command without --resume, or name the restore';
    const refused = (request: Partial<RestoreRequest>) =>
      assert.rejects(
        restore({ resumes: true, ...request }),
        new RegExp(`^BackupError: ${nothing} .*; interrupted: --backup ${backup} into cluster c$`),
      );
    await refused({ map: ['a=x'] });
    node.cluster = 'd';
    await refused({});
    node.cluster = 'c';
    addBackupOf({ name: 'a' }, { name: 'b' });
    await refused({});
    assert.deepEqual(node.calls, []);
    await restore({ resumes: true, backup });
    assert.deepEqual(node.calls, all);
  });

  it('flushes a bucket again whose flush was not answered, when it is resumed', async () => {
    node.flushing = () => cancelled.abort(new Error('stopped'));
    await assert.rejects(restore({ replaces: true }), /stopped \(1 of 2 buckets were flushed/);
    cancelled = new AbortController();
    interrupt('b');
    await assert.rejects(restore({ resumes: true, buckets: ['b'] }), /0 of 1 buckets were flushed/);
    interrupt('');
    await restore({ resumes: true });
    assert.deepEqual(node.calls, all);
  });

  it('is forgotten once another restore was made', async () => {
    interrupt('b');
    await assert.rejects(restore({ replaces: true }));
    interrupt('');
    node.calls.length = 0;
    await restore();
    assert.deepEqual(node.calls, ['write a', 'write b']);
    assert.deepEqual(records(), []);
  });
});

describe('a restore that resumes', () => {
  beforeEach(() => addBackupOf({ name: 'a' }, { name: 'b' }));

  it('is refused unless one was interrupted', async () => {
    const nothing = /^BackupError: nothing to resume; repeat the command without --resume$/;
    await assert.rejects(restore({ resumes: true }), nothing);
    await restore();
    await assert.rejects(restore({ resumes: true }), nothing);
    await assert.rejects(restore({ buckets: ['c'] }), /has no bucket "c"/);
    await assert.rejects(restore({ resumes: true }), nothing);
    assert.deepEqual(node.calls, ['write a', 'write b']);
  });

  it('continues one that did not replace anything, and flushes nothing', async () => {
    node.asking = () => {
      throw new Error('killed');
    };
    await assert.rejects(restore(), /killed/);
    node.asking = () => {};
    await restore({ resumes: true });
    assert.deepEqual(node.calls, ['write a', 'write b']);
  });
});

describe('a restore of some collections', () => {
  const indexOn = (name: string, path: string): IndexRecord => ({
    name,
    definition: `CREATE INDEX \`${name}\` ON ${path}(\`x\`) WITH {"defer_build":true}`,
  });
  const onDefault = indexOn('i0', '`a`');
  const onItems = indexOn('i1', '`a`.`shop`.`items`');
  const onCarts = indexOn('i2', '`a`.`shop`.`carts`');
  const stated = { name: 'i3', definition: 'CREATE PRIMARY INDEX', scope: 'shop', collection: 'carts' };
  const statements = () => node.calls.filter((call) => call.startsWith('CREATE'));

  it('creates their indexes only', async () => {
    addBackupOf({ name: 'a', indexes: [onDefault, onItems, onCarts, stated] });
    await restore({ includes: ['a.shop.items'] });
    assert.deepEqual(statements(), [onItems.definition]);
    node.calls.length = 0;
    await restore({ excludes: ['a.shop.items'] });
    assert.deepEqual(
      statements(),
      [onDefault, onCarts, stated].map(({ definition }) => definition),
    );
  });

  it('creates a chosen scope that has no collections, also in another bucket', async () => {
    addBackupOf({ name: 'a', scopes: ['shop', 'empty'] });
    const { buckets } = await restore({ includes: ['a.empty'] });
    assert.deepEqual([buckets.map(({ targets }) => targets), node.added], [[['a']], ['a.empty']]);
    node.added.length = 0;
    await restore({ map: ['a.empty=b.empty'] });
    assert.deepEqual(node.added, ['a.shop', 'b.empty']);
  });

  it('drops only what is chosen', async () => {
    const old = { id: 10, scope: 'old', name: 'x', maxTtl: 0 };
    const kept = { id: 11, scope: 'old', name: 'y', maxTtl: 0 };
    const collections = ['items', 'carts'].map(collection);
    addBackupOf({ name: 'a', scopes: ['shop', 'old'], collections: [...collections, old, kept] });
    addBackupOf({ name: 'a', collections: collections.slice(0, 1) });
    const dropped = async (changes: Partial<RestoreRequest>) => {
      node.calls.length = 0;
      await restore({ removesCollections: true, ...changes });
      return node.calls.filter((call) => call.startsWith('drop'));
    };
    assert.deepEqual(await dropped({}), ['drop old', 'drop shop.carts']);
    assert.deepEqual(await dropped({ includes: ['a.shop.items'] }), []);
    assert.deepEqual(await dropped({ includes: ['a.shop'] }), ['drop shop.carts']);
    assert.deepEqual(await dropped({ excludes: ['a.shop.carts', 'a.old.y'] }), ['drop old.x']);
    await assert.rejects(
      restore({ excludes: ['a.shop.carts'] }),
      /no bucket, scope or collection "a.shop.carts"/,
    );
  });

  it('drops nothing into which --map restores something else', async () => {
    const old = { id: 10, scope: 'old', name: 'x', maxTtl: 0 };
    const collections = ['items', 'carts'].map(collection);
    const items = collections.slice(0, 1);
    addBackupOf({ name: 'a', scopes: ['shop', 'old'], collections: [...collections, old] }, { name: 'b' });
    addBackupOf({ name: 'a', collections: items }, { name: 'b', collections: items });
    const droppedWith = async (...map: string[]) => {
      node.calls.length = 0;
      await restore({ removesCollections: true, map });
      return node.calls.filter((call) => call.startsWith('drop'));
    };
    assert.deepEqual(await droppedWith('a.shop.items=a.shop.carts'), ['drop old', 'drop shop.carts']);
    assert.deepEqual(await droppedWith('b.shop.items=a.shop.carts'), ['drop old', 'drop shop.carts']);
  });
});
