// The contract of every configuration store. `Place` is one store that several nodes can access, on fresh servers or files.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConfigStore, update } from '#replog/config-store.ts';
import { eventually } from '../support/node-process.ts';

export interface Place {
  /** Opens the store for one more node. */
  open(): Promise<ConfigStore>;
  close(): Promise<void>;
}

interface Suite {
  make(): Promise<Place>;
  /** Several nodes can access this kind of store. */
  isShared: boolean;
  skip?: string | false;
}

export function configStoreSuite(name: string, { make, isShared, skip = false }: Suite): void {
  const check = (title: string, body: (store: ConfigStore) => Promise<void>) =>
    it(title, async () => {
      const place = await make();
      try {
        await using store = await place.open();
        await body(store);
      } finally {
        await place.close();
      }
    });
  const checkShared = (title: string, body: (stores: ConfigStore[]) => Promise<void>) =>
    it(title, async () => {
      const place = await make();
      const stores = await Promise.all([place.open(), place.open(), place.open()]);
      try {
        await body(stores);
      } finally {
        for (const store of stores) await store[Symbol.asyncDispose]();
        await place.close();
      }
    });

  describe(`config store, ${name}`, { skip }, () => {
    check('answers null for an absent key', async (store) => {
      assert.equal(await store.get('nothing'), null);
      assert.deepEqual(await store.list(''), []);
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

    check('deletes only at the expected revision, and raises the revision of the store', async (store) => {
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

    check('takes keys of any characters and values of any JSON', async (store) => {
      const values: [string, unknown][] = [
        ['a.b', null],
        ['a b*>$', { é: ['😀', 1.5, -0.25e-7] }],
        ['=2e', ''],
        ['x'.repeat(200), 'y'.repeat(300_000)],
      ];
      for (const [key, value] of values) assert.ok(await store.put(key, value, 0));
      for (const [key, value] of values) assert.deepEqual((await store.get(key))?.value, value);
      assert.equal((await store.list('')).length, values.length);
    });

    check('returns copies, so that changing one does not change the stored value', async (store) => {
      await store.put('a', { list: [1] }, 0);
      const first = await store.get<{ list: number[] }>('a');
      first?.value.list.push(2);
      assert.deepEqual((await store.get('a'))?.value, { list: [1] });
    });

    check(
      'calls a watcher with the existing entries under its prefix, then with each change, until it is stopped',
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

    check('shows a new watcher every change, also those made while it begins to watch', async (store) => {
      for (let round = 0; round < 20; round++) {
        const seen = new Set<string>();
        const writing = store.put(`w/${round}/a`, 1, 0);
        const turn = Promise.resolve().then(() => store.put(`w/${round}/b`, 1, 0));
        const watching = store.watch(`w/${round}/`, (key) => seen.add(key));
        await Promise.all([writing, turn, watching]);
        await eventually(() => assert.deepEqual([...seen].sort(), [`w/${round}/a`, `w/${round}/b`]));
        (await watching).stop();
      }
    });

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

    if (!isShared) return;
    checkShared('lets one of several nodes win each race, and all updates take effect', async (stores) => {
      const outcomes = await Promise.all(stores.map((store, i) => store.put('race', i, 0)));
      assert.equal(outcomes.filter((revision) => revision !== null).length, 1);
      const count = (store: ConfigStore) => update<number>(store, 'count', 0, (value) => value + 1);
      await Promise.all(stores.flatMap((store) => Array.from({ length: 8 }, () => count(store))));
      for (const store of stores) assert.equal((await update<number>(store, 'count', 0, (v) => v)).value, 24);
    });

    checkShared('shows a node its own change at once, and the others soon', async (stores) => {
      const [first, second, third] = stores as [ConfigStore, ConfigStore, ConfigStore];
      const revision = (await first.put('k', 'v', 0)) as number;
      assert.equal((await first.get('k'))?.value, 'v');
      for (const store of [second, third])
        await eventually(async () => assert.equal((await store.get('k'))?.revision, revision));
      assert.equal(await second.delete('k', revision), true);
      assert.equal(await second.get('k'), null);
      await eventually(async () => assert.equal(await third.get('k'), null));
      // Absent again, so that a node may recreate it.
      assert.ok(await third.put('k', 'w', 0));
    });

    checkShared(
      'shows every node changes in the order of revisions, none twice, up to the newest state',
      async (stores) => {
        const seen = stores.map(() => [] as { key: string; revision: number; value: unknown }[]);
        for (const [i, store] of stores.entries())
          await store.watch('w/', (key, entry) => {
            if (entry !== null) seen[i]?.push({ key, revision: entry.revision, value: entry.value });
          });
        const write = async (store: ConfigStore, name: number): Promise<void> => {
          for (let i = 0; i < 10; i++) await update(store, `w/${i % 3}`, '', () => `${name}:${i}`);
        };
        await Promise.all(stores.map(write));
        const newest = async (store: ConfigStore): Promise<unknown> => store.list('w/');
        const head = Math.max(...stores.map((store) => store.revision()));
        await eventually(() => assert.ok(stores.every((store) => store.revision() >= head)));
        for (const store of stores)
          assert.deepEqual(await newest(store), await newest(stores[0] as ConfigStore));
        for (const [i, changes] of seen.entries()) {
          const revisions = changes.map(({ revision }) => revision);
          assert.deepEqual(
            revisions,
            [...new Set(revisions)].sort((a, b) => a - b),
          );
          const last = new Map(changes.map(({ key, ...entry }) => [key, { key, ...entry }]));
          assert.deepEqual(
            [...last.values()].sort((a, b) => (a.key < b.key ? -1 : 1)),
            await newest(stores[i] as ConfigStore),
          );
        }
      },
    );
  });
}
