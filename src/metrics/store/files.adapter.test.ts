import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

test('reports a partial write of a block and removes the file', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-files-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const adapter = new URL('./files.adapter.ts', import.meta.url).href;
  const writing = `
    const { FolderStoreFiles } = await import(${JSON.stringify(adapter)});
    const parts = Array.from({ length: 3_000 }, () => Buffer.alloc(1024));
    await new FolderStoreFiles(${JSON.stringify(folder)}).write('0.block', parts).then(
      () => console.log('written'),
      (error) => console.log('refused', error.message),
    );`;
  const limited = ['-c', 'ulimit -f 100; exec "$0" --input-type=module -e "$1"', process.execPath, writing];
  const { stdout, stderr } = spawnSync('sh', limited, { encoding: 'utf8' });
  assert.match(stdout, /^refused /, stderr);
  assert.deepEqual(readdirSync(folder), []);
});
