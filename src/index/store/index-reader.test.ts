import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import type { KeyInterval } from '../spans/intervals.ts';
import { logBytesMax } from './file-schema.ts';
import { IndexFolder, IndexFolderReaders } from './index-folder.adapter.ts';
import type { DocumentRows } from './index-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'divan-index-reader-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const everything: KeyInterval = { start: Buffer.alloc(0), end: null, accepts: null };
const bucketUuid = 'b0';

test('single pages of an unchanged index share a snapshot, until a commit is counted or the newest rows are needed', () => {
  const { file, reader } = aFile('a');
  const page = { after: null, isReverse: false, limit: 100, isOnly: true };
  const rowsSeen = (commits?: number) => reader.page(everything, { ...page, commits }).length;
  const commit = (id: string) => file.commit([rowsOf(id, 'k')], []);
  const share = (commits: number, times = 20) => {
    for (let time = 0; time < times; time++) rowsSeen(commits);
  };
  commit('1');
  share(0, 10);
  share(1, 10);
  commit('2');
  assert.equal(rowsSeen(1), 2, 'few pages share none');
  share(1);
  commit('3');
  assert.equal(rowsSeen(1), 2);
  assert.equal(rowsSeen(2), 3);
  share(2);
  commit('4');
  assert.equal(rowsSeen(2), 3);
  assert.equal(rowsSeen(), 4);
  share(3);
  commit('5');
  assert.equal(rowsSeen(3), 4);
  reader.refresh();
  assert.equal(rowsSeen(3), 5);
  share(3);
  commit('6');
  assert.equal(rowsSeen(3), 5);
  reader.close();
  file.close();
});

test('the log of a file stays short while single pages share snapshots at each commit', () => {
  const { file, reader } = aFile('b');
  const page = { after: null, isReverse: false, limit: 1, isOnly: true };
  const log = join(folder, bucketUuid, 'b.index-wal');
  for (let commits = 0; commits < 120; commits++) {
    file.commit(
      Array.from({ length: 50 }, (_, at) => rowsOf(`${at}`, `${commits} ${'k'.repeat(2_000)}`)),
      [],
    );
    for (let times = 0; times < 20; times++) reader.page(everything, { ...page, commits });
  }
  assert.ok(statSync(log).size < 1.5 * logBytesMax, `${statSync(log).size} bytes`);
  reader.close();
  file.close();
});

function aFile(indexId: string) {
  const identity = { indexId, bucketUuid, collectionId: 8, isPrimary: false, fingerprint: 'one' };
  const file = new IndexFolder(folder, silentLog).open(identity);
  return { file, reader: new IndexFolderReaders(folder).open(bucketUuid, indexId) };
}

const rowsOf = (id: string, key: string): DocumentRows => ({ id: Buffer.from(id), keys: [Buffer.from(key)] });
