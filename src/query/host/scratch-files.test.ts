import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ScratchFiles } from './scratch-files.adapter.ts';

test('all temporary files together keep the bound, and a closed one frees its space', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-scratch-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = new ScratchFiles(join(folder, 'tmp'), () => 10);
  const [first, second] = [await files.open(), await files.open()];
  const at = await first.append(Buffer.from('123456'));
  await assert.rejects(
    second.append(Buffer.from('12345')),
    (error: { code?: number; message: string }) =>
      error.code === 5015 && error.message.includes('queryTmpSpaceSize'),
  );
  assert.equal(String(await first.read(at)), '123456');
  await first.close();
  await second.append(Buffer.from('1234567890'));
  await second.close();
});
