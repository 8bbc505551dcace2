// Index files on a small disk that is or was full.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { needs } from '../../../test/support/needs.ts';
import { SmallDisk } from '../../../test/support/small-disk.ts';
import { IndexFolder } from './index-folder.adapter.ts';
import type { DocumentRows } from './index-store.ts';

test('indexes on a full disk catch up in the space of dropped indexes', { skip: needs('mount') }, (t) => {
  const folder = new IndexFolder(new SmallDisk(t, '20m').folder, silentLog);
  const ids = ['0a', '0b', '0c', '0d'];
  const files = ids.map((indexId) =>
    folder.open({ indexId, bucketUuid: 'ab', collectionId: 8, isPrimary: false, fingerprint: 'f' }),
  );
  t.after(() => {
    for (const file of files) file.close();
  });
  let number = 0;
  const rows = (): DocumentRows[] =>
    Array.from({ length: 500 }, () => {
      number++;
      // Keys in another order than the ids, so that each commit changes many pages.
      const key = Buffer.from(String((number * 7_919) % 1_000_003).padStart(60, 'k'));
      return { id: Buffer.from(String(number).padStart(40, 'x')), keys: [key] };
    });
  const commit = (at: number): boolean => {
    try {
      files[at]?.commit(rows(), []);
      return true;
    } catch (error) {
      assert.equal((error as { errcode?: number }).errcode, 13);
      return false;
    }
  };
  const writing = new Set([0, 1, 2, 3]);
  while (writing.size > 0) for (const at of writing) if (!commit(at)) writing.delete(at);
  for (const at of [2, 3]) {
    folder.remove('ab', ids[at] as string);
    files[at]?.close();
  }
  const commits = [0, 0];
  for (let round = 0; round < 20; round++)
    for (const at of [0, 1]) commits[at] = (commits[at] ?? 0) + Number(commit(at));
  assert.deepEqual(commits, [20, 20]);
});

test('an index file is not replaced because the disk is full when it is opened', {
  skip: needs('mount'),
}, (t) => {
  const disk = new SmallDisk(t, '20m');
  const folder = new IndexFolder(disk.folder, silentLog);
  const identity = { indexId: '0a', bucketUuid: 'ab', collectionId: 8, isPrimary: false, fingerprint: 'f' };
  const first = folder.open(identity);
  first.commit([{ id: Buffer.from('a'), keys: [Buffer.from('k')] }], []);
  first.close();
  disk.fill();
  assert.throws(() => folder.open(identity), /disk/);
  disk.free();
  const again = folder.open(identity);
  assert.equal(again.rows, 1);
  again.close();
});
