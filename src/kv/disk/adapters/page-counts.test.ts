import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { PageCounts } from './page-counts.ts';

test('the pages of a file are counted again after a commit, and only then', () => {
  const db = new DatabaseSync(':memory:');
  const counts = new PageCounts(db);
  const pagesAsOf = (commits: number): number => counts.asOf(commits).all;
  const empty = pagesAsOf(1);
  db.exec('create table filler(bytes); insert into filler values(zeroblob(100000))');
  assert.equal(pagesAsOf(1), empty);
  const filled = pagesAsOf(2);
  assert.ok(filled > empty);
  assert.deepEqual([pagesAsOf(2), pagesAsOf(2)], [filled, filled]);
  db.exec('drop table filler');
  const { all, free } = counts.asOf(3);
  assert.equal(all, filled);
  assert.ok(free > 0);
  db.close();
});
