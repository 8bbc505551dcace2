// The suite of every configuration store on the in-memory and the embedded one, and tests of the embedded file.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { configStoreSuite } from '../../test/contract/config-store.ts';
import type { ConfigStore } from './config-store.ts';
import { EmbeddedConfigStore, storedBytesMax } from './embedded-config-store.adapter.ts';
import { MemoryConfigStore } from './memory-config-store.ts';

const stores: Record<string, (folder: string) => ConfigStore> = {
  memory: () => new MemoryConfigStore(),
  embedded: (folder) => new EmbeddedConfigStore(join(folder, 'config.db')),
};

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'config-store-'));
  try {
    await run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('the embedded store refuses changes once its file was removed, because the next start would not find them', () =>
  withFolder(async (folder) => {
    await using store = new EmbeddedConfigStore(join(folder, 'config.db'));
    assert.equal(await store.put('a', 1, 0), 1);
    rmSync(join(folder, 'config.db'));
    await assert.rejects(store.put('a', 2, 1), /config\.db was removed or replaced while it was open/);
    await assert.rejects(store.delete('a', 1), /was removed or replaced/);
    assert.equal((await store.get('a'))?.value, 1);
  }));

it('a watcher that another watcher of the same change stops is not called', async () => {
  const store = new MemoryConfigStore();
  const seen: string[] = [];
  await store.watch('', () => second.stop());
  const second = await store.watch('', (key) => void seen.push(key));
  await store.put('a', 1, 0);
  assert.deepEqual(seen, []);
});

for (const [name, open] of Object.entries(stores))
  configStoreSuite(name, {
    isShared: false,
    async make() {
      const folder = mkdtempSync(join(tmpdir(), 'config-store-'));
      return { open: async () => open(folder), close: async () => rmSync(folder, { recursive: true }) };
    },
  });

describe('embedded config store', () => {
  it('keeps entries and the revision when it is closed and opened again', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'config.db');
      {
        await using store = new EmbeddedConfigStore(path);
        await store.put('a', { deep: ['ü'] }, 0);
        await store.put('b', 1, 0);
        await store.delete('b', 2);
      }
      await using store = new EmbeddedConfigStore(path);
      assert.deepEqual(await store.get('a'), { key: 'a', value: { deep: ['ü'] }, revision: 1 });
      assert.equal(store.revision(), 3);
    }));

  it('refuses a value that would be too large for a message to another node, and keeps the present one', () =>
    withFolder(async (folder) => {
      await using store = new EmbeddedConfigStore(join(folder, 'config.db'));
      await store.put('a', 'x'.repeat(storedBytesMax - 2), 0);
      const refused = {
        name: 'UnwritableError',
        isUnchanged: true,
        message: /^the value of "a" has 15728641 bytes/,
      };
      await assert.rejects(store.put('a', 'y'.repeat(storedBytesMax - 1), 1), refused);
      assert.equal((await store.get<string>('a'))?.value[0], 'x');
    }));

  it('is readable by its owner only', () =>
    withFolder(async (folder) => {
      await using store = new EmbeddedConfigStore(join(folder, 'config.db'));
      await store.put('a', 1, 0);
      for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
    }));

  it('refuses the file of another program and one of a newer version, and names it', () =>
    withFolder(async (folder) => {
      const path = join(folder, 'config.db');
      const other = new DatabaseSync(path);
      other.exec('create table t(a)');
      other.close();
      assert.throws(() => new EmbeddedConfigStore(path), /config\.db.*not a configuration/);
      const newer = join(folder, 'newer.db');
      await new EmbeddedConfigStore(newer)[Symbol.asyncDispose]();
      const handle = new DatabaseSync(newer);
      handle.exec('pragma user_version = 99');
      handle.close();
      assert.throws(() => new EmbeddedConfigStore(newer), /newer\.db.*newer version \(schema 99\)/);
    }));
});
