import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { FileTarget, isStream } from './file-target.ts';

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

it('writes to a named pipe, which has no positions and cannot be continued', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-target-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  t.after(() => closeSync(reader));
  {
    using target = FileTarget.open(path, null);
    await target.write('1\n');
    await target.write('2\n');
    target.sync();
  }
  assert.equal(readFileSync(reader, 'utf8'), '1\n2\n');
  for (const stream of [path, '-', '/dev/null']) assert.equal(isStream(stream), true, stream);
  for (const file of [join(folder, 'new'), folder]) assert.equal(isStream(file), false, file);
});
