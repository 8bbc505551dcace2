// One suite over every form of the configuration store.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { type ConfigStore, update } from './config-store.ts';
import { EmbeddedConfigStore } from './embedded-config-store.adapter.ts';
import { MemoryConfigStore } from './memory-config-store.ts';

const forms: Record<string, (folder: string) => ConfigStore> = {
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

it('refuses changes once its file was removed: the next start would not find them', () =>
  withFolder(async (folder) => {
    await using store = new EmbeddedConfigStore(join(folder, 'config.db'));
    assert.equal(await store.put('a', 1, 0), 1);
    rmSync(join(folder, 'config.db'));
    await assert.rejects(store.put('a', 2, 1), /config\.db was removed or replaced while it was open/);
    await assert.rejects(store.delete('a', 1), /was removed or replaced/);
    assert.equal((await store.get('a'))?.value, 1);
  }));

for (const [name, open] of Object.entries(forms)) {
  const check = (title: string, body: (store: ConfigStore) => Promise<void>) =>
    it(title, () =>
      withFolder(async (folder) => {
        await using store = open(folder);
        await body(store);
      }),
    );

  describe(`config store, ${name}`, () => {
    check('answers null for an absent key', async (store) => {
      assert.equal(await store.get('nothing'), null);
      assert.equal(store.revision(), 0);
    });

    check('keeps what was put, with a growing revision', async (store) => {
      assert.equal(await store.put('a', { x: 1 }, 0), 1);
      assert.equal(await store.put('b', 'text', 0), 2);
      assert.deepEqual(await store.get('a'), { key: 'a', value: { x: 1 }, revision: 1 });
      assert.equal(store.revision(), 2);
    });

    check('refuses a put whose expected revision is not the present one', async (store) => {
      await store.put('a', 1, 0);
      assert.equal(await store.put('a', 2, 0), null);
      assert.equal(await store.put('a', 2, 7), null);
      assert.equal(await store.put('absent', 2, 1), null);
      assert.equal((await store.get('a'))?.value, 1);
      assert.equal(store.revision(), 1);
    });

    check('deletes only at the expected revision, and counts it', async (store) => {
      await store.put('a', 1, 0);
      assert.equal(await store.delete('a', 9), false);
      assert.equal(await store.delete('a', 1), true);
      assert.equal(await store.delete('a', 1), false);
      assert.equal(await store.delete('absent', 0), false);
      assert.equal(await store.get('a'), null);
      assert.equal(await store.put('a', 2, 0), 3);
    });

    check('lists by prefix in key order', async (store) => {
      for (const key of ['map/b', 'map/a', 'maq', 'ma', 'map/é']) await store.put(key, key, 0);
      assert.deepEqual(
        (await store.list('map/')).map((entry) => entry.key),
        ['map/a', 'map/b', 'map/é'],
      );
      assert.equal((await store.list('')).length, 5);
    });

    check('gives copies that no caller can change for another', async (store) => {
      await store.put('a', { list: [1] }, 0);
      const first = await store.get<{ list: number[] }>('a');
      first?.value.list.push(2);
      assert.deepEqual((await store.get('a'))?.value, { list: [1] });
    });

    check(
      'notifies watchers of what is there, then each change under the prefix, until stopped',
      async (store) => {
        const seen: [string, unknown][] = [];
        await store.put('w/1', 'one', 0);
        const watch = await store.watch('w/', (key, entry) => seen.push([key, entry?.value ?? null]));
        const revision = await store.put('w/2', 'two', 0);
        await store.put('elsewhere', 'no', 0);
        await store.delete('w/2', revision as number);
        watch.stop();
        await store.put('w/3', 'three', 0);
        assert.deepEqual(seen, [
          ['w/1', 'one'],
          ['w/2', 'two'],
          ['w/2', null],
        ]);
      },
    );

    check('lets concurrent updates of one key all take effect', async (store) => {
      await Promise.all(
        Array.from({ length: 20 }, () => update<number>(store, 'count', 0, (value) => value + 1)),
      );
      assert.equal((await store.get('count'))?.value, 20);
    });

    check('leaves the key alone when a change throws', async (store) => {
      await store.put('a', 1, 0);
      await assert.rejects(
        update(store, 'a', 0, () => {
          throw new Error('no');
        }),
        /no/,
      );
      assert.equal(store.revision(), 1);
    });
  });
}

describe('embedded config store', () => {
  it('keeps entries and revision over a reopening', () =>
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

  it('is readable by its owner only', () =>
    withFolder(async (folder) => {
      await using store = new EmbeddedConfigStore(join(folder, 'config.db'));
      await store.put('a', 1, 0);
      for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
    }));

  it('refuses the file of another program and one of a newer version, by name', () =>
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
