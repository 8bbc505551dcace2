import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkDisk, holderOf } from './check-disk.ts';

test('a folder in which no file can be written is a finding', { skip: process.platform !== 'linux' }, () => {
  const problems = checkDisk('/proc').filter(({ state }) => state === 'problem');
  assert.match(problems.map(({ text }) => text).join(), /cannot be written|may not write/);
});

test('a lock file without a process id names no process', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-doctor-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [content, holder] of [
    ['', null],
    ['-1', null],
    ['x', null],
    [String(process.pid), process.pid],
  ] as const) {
    writeFileSync(join(folder, 'lock.pid'), content);
    assert.equal(holderOf(folder), holder, content);
  }
});
