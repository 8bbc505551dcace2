import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change, ChangeKind } from '#client/change.ts';
import { vbucketCount } from '#client/document-key.ts';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { compileDefinition } from '../entries/compile-definition.ts';
import type { DocumentRows, IndexFile, VbPosition } from '../store/index-store.ts';
import { FollowedIndex } from './followed-index.ts';
import { IndexGroup } from './index-group.ts';

const vb = 0;

/** An index over a fake file, and the number of rows of each document in it. */
function anIndex(stored: readonly VbPosition[] = []) {
  const rows = new Map<string, number>();
  const put = (documents: readonly DocumentRows[], add: boolean): void => {
    for (const { id, keys } of documents) {
      const key = Buffer.from(id).toString();
      rows.set(key, keys.length + (add ? (rows.get(key) ?? 0) : 0));
    }
  };
  const file: Partial<IndexFile> = {
    rows: 0,
    isBuilt: false,
    stagedBytes: 0,
    positions: () => stored,
    stage: (documents) => put(documents, true),
    commit: (documents) => put(documents, false),
    remove: () => rows.clear(),
    markBuilt: () => {},
  };
  const definition = aDefinition(['`a`']);
  const compiled = compileDefinition(definition);
  const index = new FollowedIndex({ definition, compiled, file: file as IndexFile, stageBytesMax: 1 });
  const change = (id: string, seqno: number, kind: ChangeKind = 'mutation'): void => {
    const { collectionId } = definition.keyspace;
    const document = { key: id, keyBytes: Buffer.from(id), isJson: true, body: Buffer.from('{"a":1}') };
    index.change({ kind, vb, seqno, collectionId, ...document } as unknown as Change);
  };
  return { index, rows, change };
}

test('a first snapshot that grows while it is received may change or delete documents that it had before', () => {
  const { index, rows, change } = anIndex();
  index.opened(vb, 1n);
  index.snapshot(vb, 0, 100);
  change('removed', 30);
  change('changed', 40);
  index.snapshot(vb, 0, 110);
  change('same', 90);
  change('removed', 105, 'deletion');
  change('changed', 110);
  index.commit();
  assert.deepEqual(Object.fromEntries(rows), { same: 1, removed: 0, changed: 1 });
});

test('the streams of a group may leave out deletions while none of its indexes has changes', () => {
  const documentsOnly = (...indexes: FollowedIndex[]): boolean => {
    const group = new IndexGroup({
      address: { host: '127.0.0.1', port: 1, timeoutMs: 1 },
      account: { username: 'a', password: 'b' },
      bucket: 'b',
      routes: null,
      name: 'test',
      indexes,
      clock: new ManualClock(),
      log: silentLog,
      changed: () => {},
      broken: () => {},
    });
    return (group as unknown as { follower: { options: { documentsOnly: boolean } } }).follower.options
      .documentsOnly;
  };
  const { index, change } = anIndex();
  index.opened(vb, 1n);
  assert.equal(documentsOnly(anIndex().index, index), true);
  change('k', 1);
  assert.equal(documentsOnly(anIndex().index, index), false);
});

test('an index has changes once it has those of one vbucket, until they are discarded', () => {
  const { index, change } = anIndex();
  assert.equal(index.hasChanges, false);
  index.opened(vb, 1n);
  index.snapshot(vb, 0, 1);
  change('k', 1);
  assert.equal(index.hasChanges, true);
  index.discard(new Set([vb]));
  assert.equal(index.hasChanges, false);
  const position = { uuid: 1n, seqno: 5, snapshotStart: 5, snapshotEnd: 5, completeSeqno: 5 };
  assert.equal(anIndex([{ vb: vbucketCount - 1, ...position }]).index.hasChanges, true);
});

test('an index closes its file even if its last positions cannot be written', () => {
  let closed = 0;
  const file = {
    rows: 0,
    isBuilt: true,
    stagedBytes: 0,
    positions: () => [],
    commit: () => {
      throw new Error('the disk is full');
    },
    close: () => closed++,
  };
  const definition = aDefinition(['`a`']);
  const compiled = compileDefinition(definition);
  const options = { definition, compiled, stageBytesMax: 1 };
  const index = new FollowedIndex({ ...options, file: file as unknown as IndexFile });
  index.opened(vb, 1n);
  assert.throws(() => index.close(), /the disk is full/);
  assert.equal(closed, 1);
});

test('a file gets the documents of a build once, even if staging them fails', () => {
  const { index, rows, change } = anIndex();
  const { stage } = index.file;
  Object.assign(index.file, {
    stage: (documents: readonly DocumentRows[]) => {
      stage(documents);
      throw new Error('no memory');
    },
  });
  index.opened(vb, 1n);
  index.snapshot(vb, 0, 100);
  change('a', 30);
  assert.throws(() => index.stage(), /no memory/);
  Object.assign(index.file, { stage });
  index.commit();
  assert.deepEqual(Object.fromEntries(rows), { a: 1 });
});
