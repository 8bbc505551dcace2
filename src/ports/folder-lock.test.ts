import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FolderInUseError, holderOf, lockFolder, shareFolder } from './folder-lock.ts';

async function aFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'divan-lock-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

test('a second holder is refused with the folder and the process that has it', async () => {
  await using folder = await aFolder();
  const lock = lockFolder(folder.path);
  assert.throws(() => lockFolder(folder.path), {
    name: 'FolderInUseError',
    message: `the data folder ${folder.path} is in use by process ${process.pid}`,
  });
  lock.release();
  lockFolder(folder.path).release();
});

test('the holder of a folder is a process that exists and has the lock', async () => {
  await using folder = await aFolder();
  const pidPath = join(folder.path, 'lock.pid');
  assert.equal(holderOf(folder.path), null);
  const lock = lockFolder(folder.path);
  assert.equal(holderOf(folder.path), process.pid);
  for (const text of ['', '-1', 'x']) {
    writeFileSync(pidPath, text);
    assert.equal(holderOf(folder.path), null, text);
  }
  lock.release();
  // As a killed process left it, whose id this process has got.
  writeFileSync(pidPath, `${process.pid}\n`);
  assert.equal(holderOf(folder.path), null);
});

test('the folder is created if it is absent', async () => {
  await using folder = await aFolder();
  lockFolder(join(folder.path, 'deep', 'below')).release();
});

test('several holders can share a folder; until the last one releases it no process can lock it', async () => {
  await using folder = await aFolder();
  const [first, second] = [shareFolder(folder.path), shareFolder(folder.path)];
  second.release();
  assert.throws(
    () => lockFolder(folder.path),
    (error) => error instanceof FolderInUseError && error.isShared,
  );
  first.release();
  const lock = lockFolder(folder.path);
  assert.throws(
    () => shareFolder(folder.path),
    (error) => error instanceof FolderInUseError && !error.isShared && error.pid === process.pid,
  );
  lock.release();
  shareFolder(folder.path).release();
});

for (const lockOf of ['lockFolder', 'shareFolder'])
  test(`what another process holds by ${lockOf} is free once that process is killed`, async () => {
    await using folder = await aFolder();
    const script = `
    const { ${lockOf} } = await import(${JSON.stringify(new URL('./folder-lock.ts', import.meta.url).href)});
    globalThis.held = ${lockOf}(${JSON.stringify(folder.path)}); // keeps the garbage collector from freeing it
    process.stdout.write('held');
    setInterval(() => {}, 1e6);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await once(child.stdout, 'data');
      assert.throws(
        () => lockFolder(folder.path),
        (error) => error instanceof FolderInUseError && error.pid === child.pid,
      );
    } finally {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    lockFolder(folder.path).release();
    assert.deepEqual(readdirSync(folder.path), ['lock.db']);
  });
