import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { FileTarget } from './file-target.ts';

it('continues after the saved length, and refuses a file that is shorter', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-target-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'out.jsonl');
  writeFileSync(path, '1\n2\n3');
  {
    using target = FileTarget.open(path, 4);
    await target.write('4\n');
  }
  assert.equal(readFileSync(path, 'utf8'), '1\n2\n4\n');
  assert.throws(
    () => FileTarget.open(path, 7),
    /--resume: .* is shorter than the interrupted export left it/,
  );
  assert.equal(readFileSync(path, 'utf8'), '1\n2\n4\n');
});
