import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

/** The output of a script, whose process may not write files above 100 blocks. The variable `files` of the script is the `FolderStoreFiles` of `folder`. */
function outputOf(folder: string, script: string): string {
  const adapter = new URL('./files.adapter.ts', import.meta.url).href;
  const whole = `
    const { FolderStoreFiles } = await import(${JSON.stringify(adapter)});
    const files = new FolderStoreFiles(${JSON.stringify(folder)});
    ${script}`;
  const limited = ['-c', 'ulimit -f 100; exec "$0" --input-type=module -e "$1"', process.execPath, whole];
  const { stdout, stderr } = spawnSync('sh', limited, { encoding: 'utf8' });
  return stdout + stderr;
}

test('a log that could not be opened for appending is closed', {
  skip: process.platform !== 'linux',
}, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-files-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const script = `
    const { readdirSync, readlinkSync } = await import('node:fs');
    await files.openLog('0.log', 2 ** 30).then(() => console.log('opened'), ({ code }) => console.log(code));
    const targets = readdirSync('/proc/self/fd').map((fd) => {
      try { return readlinkSync('/proc/self/fd/' + fd); } catch { return ''; }
    });
    console.log(targets.filter((target) => target.endsWith('0.log')).length);`;
  assert.equal(outputOf(folder, script), 'EFBIG\n0\n');
});

test('a block that was written only in part is reported, and its file removed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-files-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const script = `
    const parts = Array.from({ length: 3_000 }, () => Buffer.alloc(1024));
    await files.write('0.block', parts).then(
      () => console.log('written'),
      (error) => console.log('refused', error.message),
    );`;
  assert.match(outputOf(folder, script), /^refused /);
  assert.deepEqual(readdirSync(folder), []);
});
