import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { needs } from '../../../test/support/needs.ts';
import { ScratchFiles } from './scratch-files.adapter.ts';

/** The SQL++ code for a lack of space for temporary files. */
const temporarySpaceCode = 5015;

test('all temporary files together have at most the bytes of the limit, and a closed file frees its space', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-scratch-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const limitBytes = () => 10;
  const files = new ScratchFiles(join(folder, 'tmp'), limitBytes);
  const [first, second] = [await files.open(), await files.open()];
  const position = await first.append(Buffer.from('123456'));
  await assert.rejects(
    second.append(Buffer.from('12345')),
    (error: { code?: number; message: string }) =>
      error.code === temporarySpaceCode && error.message.includes('queryTmpSpaceSize'),
  );
  assert.equal(String(await first.read(position)), '123456');
  await first.close();
  await second.append(Buffer.from('1234567890'));
  await second.close();
});

test('a write to a full disk fails with this reason, and writes nothing in part', {
  skip: needs('mount'),
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-scratch-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'divan-test', folder]);
  t.after(() => {
    execFileSync('umount', ['--lazy', folder]);
    rmSync(folder, { recursive: true });
  });
  const files = new ScratchFiles(join(folder, 'tmp'), () => Infinity);
  const file = await files.open();
  const position = await file.append(Buffer.alloc(600_000, 1));
  await assert.rejects(
    file.append(Buffer.alloc(600_000, 2)),
    (error: { code?: number; message: string }) =>
      error.code === temporarySpaceCode && error.message.startsWith('The disk has no space'),
  );
  assert.deepEqual(await file.read(position), Buffer.alloc(600_000, 1));
  await file.close();
});
