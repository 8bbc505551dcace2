import assert from 'node:assert/strict';
import { copyFileSync, renameSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { cutsOf, loaded } from '../../../../test/support/cuts.ts';
import type { BucketFiles, DiskEngine } from '../../data/disk-engine.ts';
import { sqliteEngine } from './sqlite-engine.ts';

interface Opened extends AsyncDisposable {
  engine: DiskEngine;
  files: BucketFiles;
  path: string;
}

async function anOpenBucket(): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), 'divan-data-'));
  const files = { folder, bucketUuid: 'f'.repeat(32), incarnation: 1, fileCount: 1 };
  const engine = sqliteEngine();
  await engine.open(files);
  const close = async (): Promise<void> => {
    await engine.stop();
    await rm(folder, { recursive: true });
  };
  return { engine, files, path: join(folder, 'data-0.1.db'), [Symbol.asyncDispose]: close };
}

const megabyte = (round: number): Uint8Array =>
  cutsOf(
    [0, 1, 2, 3].map((i) => ({ key: `k${i}`, value: `${round}`.repeat(250_000), seqno: round * 4 + i + 1 })),
  );

test('the write-ahead log stays bounded while the same documents are written repeatedly', async () => {
  await using opened = await anOpenBucket();
  const { engine, files, path } = opened;
  for (let round = 0; round < 60; round++) await engine.commit(files.bucketUuid, 0, megabyte(round % 10));
  const walBytes = statSync(`${path}-wal`).size;
  assert.ok(walBytes < 12 * 2 ** 20, `${walBytes} bytes`);
  const { fileBytes, dataBytes } = await engine.sizes(files.bucketUuid);
  assert.equal(fileBytes, statSync(path).size + walBytes);
  assert.ok(dataBytes < 8 * 2 ** 20);
});

test('delayed checkpoints are made when the delay ends, or when the write-ahead log is four times as large as usual', async () => {
  for (const rounds of [20, 40]) {
    await using opened = await anOpenBucket();
    const { engine, files, path } = opened;
    const isCheckpointed = (): boolean => statSync(path).size > 2 ** 20;
    await engine.delayCheckpoints?.(files.bucketUuid, true);
    for (let round = 0; round < rounds; round++) await engine.commit(files.bucketUuid, 0, megabyte(round));
    assert.equal(isCheckpointed(), rounds === 40);
    await engine.delayCheckpoints?.(files.bucketUuid, false);
    assert.ok(isCheckpointed());
  }
});

test('a bucket that closes ends its delay of checkpoints', async () => {
  await using opened = await anOpenBucket();
  const { engine, files, path } = opened;
  await engine.delayCheckpoints?.(files.bucketUuid, true);
  await engine.close(files.bucketUuid);
  await engine.open(files);
  for (let round = 0; round < 20; round++) await engine.commit(files.bucketUuid, 0, megabyte(round));
  assert.ok(statSync(path).size > 2 ** 20);
});

for (const became of ['removed', 'replaced by a copy']) {
  test(`a file that is ${became} while it is open takes no commits: the next start would not find them`, async () => {
    await using opened = await anOpenBucket();
    const { engine, files, path } = opened;
    await engine.commit(files.bucketUuid, 0, megabyte(0));
    renameSync(path, `${path}.away`);
    if (became !== 'removed') copyFileSync(`${path}.away`, path);
    for (let attempt = 0; attempt < 2; attempt++)
      await assert.rejects(
        async () => engine.commit(files.bucketUuid, 0, megabyte(1)),
        /was removed or replaced while it was open/,
      );
  });
}

test('an external reader that never ends stops neither commits nor reads of new rows', async () => {
  await using opened = await anOpenBucket();
  const { engine, files, path } = opened;
  await engine.commit(files.bucketUuid, 0, megabyte(0));
  const outside = new DatabaseSync(path, { readOnly: true });
  outside.exec('begin');
  assert.equal(outside.prepare('select count(*) n from doc').get()?.['n'], 4);
  for (let round = 1; round < 15; round++) await engine.commit(files.bucketUuid, 0, megabyte(round));
  const docs = await loaded(engine, files);
  assert.equal(docs.at(-1)?.seqno, 60);
  outside.close();
  await engine.commit(files.bucketUuid, 0, megabyte(15));
  await engine.close(files.bucketUuid);
});

test('rows, large values and states are stored as the format says', async () => {
  await using opened = await anOpenBucket();
  const { engine, files, path } = opened;
  const docs = [
    { vb: 5, key: 'small', value: 'x'.repeat(2000), seqno: 1, expiry: 77 },
    { vb: 5, key: 'big', value: 'y'.repeat(2001), seqno: 2 },
    { vb: 5, key: 'gone', seqno: 3, bits: 1, expiry: 88 },
  ];
  await engine.commit(files.bucketUuid, 0, cutsOf(docs));
  const small = [{ vb: 5, key: 'big', value: 'z', seqno: 4 }];
  const outside = new DatabaseSync(path, { readOnly: true });
  const all = (text: string): unknown[] =>
    outside
      .prepare(text)
      .all()
      .map((row) => Object.values(row));
  assert.deepEqual(all('pragma page_size'), [[8192]]);
  assert.deepEqual(all('pragma journal_mode'), [['wal']]);
  assert.deepEqual(all('pragma user_version'), [[2]]);
  assert.deepEqual(all('select cast(key as text), seq, exp, del, length(val) from doc order by seq'), [
    ['small', 1, 77, null, 2000],
    ['big', 2, 0, null, null],
    ['gone', 3, 0, 88, 0],
  ]);
  assert.deepEqual(all('select id, length(val) from big'), [[5 * 2 ** 43 + 2, 2001]]);
  assert.deepEqual(all('select id, high, typeof(high), typeof(max_cas) from vb'), [
    [5, 3, 'integer', 'blob'],
  ]);
  await engine.commit(files.bucketUuid, 0, cutsOf(small));
  assert.deepEqual(all('select count(*) from big'), [[0]]);
  assert.deepEqual(all('pragma integrity_check'), [['ok']]);
  outside.close();
});
