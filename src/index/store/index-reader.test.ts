import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { silentLog } from '#ports/log.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import type { KeyInterval } from '../spans/intervals.ts';
import { logBytesMax } from './file-schema.ts';
import { IndexFolder, IndexFolderReaders } from './index-folder.adapter.ts';
import type { DocumentRows, IndexReader, StoredRow } from './index-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'divan-index-reader-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const everything: KeyInterval = { start: Buffer.alloc(0), end: null, accepts: null };
const bucketUuid = 'b0';

test('single pages of an unchanged index share a snapshot, until a commit is counted or the newest rows are needed', () => {
  const { file, reader } = aFile('a');
  const page = { after: null, isReverse: false, limit: 100, isOnly: true };
  const rowsSeen = (commits?: number) => reader.page(everything, { ...page, commits }).length;
  const commit = (id: string) => file.commit([rowsOf(id, 'k')], []);
  // By default more pages than are read without a common snapshot.
  const share = (commits: number, times = 20) => {
    for (let time = 0; time < times; time++) rowsSeen(commits);
  };
  commit('1');
  share(0, 10);
  share(1, 10);
  commit('2');
  assert.equal(rowsSeen(1), 2, 'few pages share no snapshot');
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

test('a scan ends although the last rows of its pages have ids that are not UTF-8', () => {
  const { file, reader } = aFile('d');
  const count = 1_100;
  const idOf = (at: number) => Buffer.concat([Buffer.from([0xff]), Buffer.from(`${at}`)]);
  const keys = [Buffer.from('k')];
  file.commit(
    Array.from({ length: count }, (_, at) => ({ id: idOf(at), keys })),
    [],
  );
  for (const [isReverse, idsOnly, limit] of [
    [false, false, 1_024],
    [false, true, 1_024],
    [true, false, 1_024],
    [false, false, 200],
  ] as const) {
    let last: StoredRow | null = null;
    let rows = 0;
    for (let pages = 0; pages < 10; pages++) {
      const page: readonly StoredRow[] = reader.page(everything, { after: last, isReverse, limit, idsOnly });
      rows += page.length;
      last = page.at(-1) ?? null;
      if (page.length < limit) break;
    }
    assert.equal(rows, count, JSON.stringify({ isReverse, idsOnly, limit }));
  }
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

test('pages of ids alone have the same ids as pages with keys, even after an id with a comma', () => {
  const text = fc.string({ unit: 'binary', maxLength: 20, size: 'max' });
  const texts = fc.sample(text, { numRuns: 700, seed: printedSeed(console.log) });
  const anyIds = texts.map((id, at) => `${at}${id}`.toWellFormed());
  const withoutComma = anyIds.map((id) => id.replaceAll(',', ''));
  for (const ids of [anyIds, withoutComma, [...withoutComma, 'last, with a comma']]) {
    const { file, reader } = aFile(`c${fileNumber++}`);
    file.commit(
      ids.map((id, at) => rowsOf(id, `k${at % 10}`)),
      [],
    );
    for (const isReverse of [false, true]) {
      const expected = idsIn(reader, { isReverse, limit: 700, idsOnly: false });
      assert.equal(expected.length, ids.length);
      for (const limit of [7, 256, 300])
        assert.deepEqual(idsIn(reader, { isReverse, limit, idsOnly: true }), expected);
    }
    reader.close();
    file.close();
  }
});

let fileNumber = 0;

/** The ids of all rows, in pages of a size. */
function idsIn(
  reader: IndexReader,
  page: { readonly isReverse: boolean; readonly limit: number; readonly idsOnly: boolean },
): string[] {
  const rows: StoredRow[] = [];
  for (;;) {
    const found = reader.page(everything, { after: rows.at(-1) ?? null, ...page });
    rows.push(...found);
    assert.ok(rows.length < 1_000, 'the pages do not end');
    if (found.length < page.limit) return rows.map(({ id }) => id);
  }
}

function aFile(indexId: string) {
  const identity = { indexId, bucketUuid, collectionId: 8, isPrimary: false, fingerprint: 'one' };
  const file = new IndexFolder(folder, silentLog).open(identity);
  return { file, reader: new IndexFolderReaders(folder).open(bucketUuid, indexId) };
}

const rowsOf = (id: string, key: string): DocumentRows => ({ id: Buffer.from(id), keys: [Buffer.from(key)] });
