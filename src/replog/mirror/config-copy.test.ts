// The copy of the configuration that a member keeps, and a mirror that starts from it.
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { FaultyConfigLink, SimulatedServers } from '../../../test/support/faulty-config-link.ts';
import { portOf } from '../../../test/support/faulty-config-store.ts';
import { SeenHeadInMemory } from '../../../test/support/nats-store.ts';
import { randomFrom } from '../../../test/support/random.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import { EmbeddedConfigStore } from '../embedded-config-store.adapter.ts';
import { ConfigCopyFile, writeConfigFile } from './config-copy.adapter.ts';
import type { StoredRecord } from './config-link.ts';
import { MirroredConfigStore } from './mirrored-config-store.ts';

function aFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'divan-copy-'));
  return {
    path: join(folder, 'config-copy.db'),
    folder,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

const aRecord = (key: string, value: unknown, revision: number): StoredRecord => ({
  key,
  json: value === null ? null : JSON.stringify(value),
  revision,
  writes: null,
});

const openFilesBelow = (folder: string): string[] =>
  readdirSync('/proc/self/fd')
    .map((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`);
      } catch {
        return ''; // the descriptor that read the list is closed
      }
    })
    .filter((path) => path.startsWith(folder));

describe('the file of a copy', () => {
  it('has every change and deletion after each save, is readable by its owner only, and opens as a store', async () => {
    using folder = aFolder();
    const file = new ConfigCopyFile(folder.path);
    file.save({ revision: 7, records: [aRecord('a', 1, 5), aRecord('b', 2, 7)] });
    file.save({ revision: 9, records: [aRecord('a', 3, 8), aRecord('b', null, 9), aRecord('c', null, 9)] });
    // Not closed, as after kill -9.
    const again = new ConfigCopyFile(folder.path);
    assert.deepEqual(again.load(), { revision: 9, records: [aRecord('a', 3, 8)] });
    for (const name of readdirSync(folder.folder))
      assert.equal(statSync(join(folder.folder, name)).mode & 0o777, 0o600, name);
    again.close();
    const path = join(folder.folder, 'config.db');
    writeConfigFile(path, { revision: 12, records: [aRecord('a', 3, 8)] });
    await using store = new EmbeddedConfigStore(path);
    assert.equal((await store.get('a'))?.revision, 8);
    assert.equal(await store.put('a', 4, 8), 13);
  });

  it('is closed and can be removed although it cannot be marked as closed', () => {
    using folder = aFolder();
    for (const end of ['close', 'remove', 'setAside'] as const) {
      const file = new ConfigCopyFile(folder.path);
      file.save({ revision: 1, records: [aRecord('a', 1, 1)] });
      const other = new DatabaseSync(folder.path);
      other.exec('drop table store');
      other.close();
      if (end === 'close') assert.throws(() => file.close(), /no such table/);
      else file[end]();
      assert.deepEqual(openFilesBelow(folder.folder), [], end);
      if (end === 'close') file.remove();
      assert.ok(!existsSync(folder.path), end);
    }
  });

  it('is refused, and its file named, when a byte of it was changed, or an older one was restored', () => {
    using folder = aFolder();
    const file = new ConfigCopyFile(folder.path);
    file.save({ revision: 1, records: [aRecord('a', 'the value', 1)] });
    file.close();
    const older = readFileSync(folder.path);
    file.save({ revision: 2, records: [aRecord('a', 'another', 2)] });
    file.close();
    const newer = readFileSync(folder.path);
    writeFileSync(folder.path, older);
    assert.throws(
      () => new ConfigCopyFile(folder.path).load(),
      /config-copy\.db: the last 1 of its 2 commits/,
    );
    const damaged = Buffer.from(newer);
    damaged[damaged.indexOf('another')] = 0x62;
    writeFileSync(folder.path, damaged);
    assert.throws(() => new ConfigCopyFile(folder.path).load(), /config-copy\.db: the entry "a" is damaged/);
    const again = new ConfigCopyFile(folder.path);
    again.setAside();
    assert.deepEqual(again.load(), { revision: 0, records: [] });
    assert.ok(readdirSync(folder.folder).includes('config-copy.db.unusable'));
    again.close();
  });
});

describe('a mirror with a copy', () => {
  function aSimulation() {
    const folder = aFolder();
    const clock = new SimulatedClock();
    const servers = new SimulatedServers();
    const random = randomFrom(1);
    const seen = new SeenHeadInMemory();
    const mirror = (isDown = false) => {
      const link = new FaultyConfigLink(servers, clock, random);
      link.isDown = isDown;
      const file = new ConfigCopyFile(folder.path);
      const store = new MirroredConfigStore({
        link,
        seen,
        clock,
        random: portOf(random),
        log: silentLog,
        copy: { file, found: file.load() },
      });
      return { link, store };
    };
    return { folder, clock, servers, seen, mirror, [Symbol.dispose]: () => folder[Symbol.dispose]() };
  }

  it('starts from it without the servers, refuses changes with the reason, and follows them when they are back', async () => {
    using simulation = aSimulation();
    const { clock, mirror } = simulation;
    const { store: first } = mirror();
    await clock.until(first.start());
    await clock.until(first.put('a', 1, 0));
    await clock.until(first.put('b', 1, 0));
    await clock.until(first.delete('b', 2));
    await clock.until(first[Symbol.asyncDispose]());

    const { store, link } = mirror(true);
    await clock.until(store.start());
    assert.deepEqual(await store.list(''), [{ key: 'a', value: 1, revision: 1 }]);
    assert.equal(store.revision(), 3);
    await assert.rejects(clock.until(store.put('a', 2, 1)), /Nothing was changed: .* cannot be used now/);
    link.isDown = false;
    await clock.run(10_000);
    assert.equal(store.problem, null);
    assert.equal(await clock.until(store.put('a', 2, 1)), 4);
    await clock.until(store[Symbol.asyncDispose]());
  });

  it('does not start from a copy of a store of which the node recorded no state', async () => {
    using simulation = aSimulation();
    const { clock, mirror, seen } = simulation;
    const { store: first } = mirror();
    await clock.until(first.start());
    await clock.until(first.put('a', 1, 0));
    await clock.until(first[Symbol.asyncDispose]());
    seen.head = null;
    const { store } = mirror(true);
    let hasStarted = false;
    store.start().then(
      () => (hasStarted = true),
      () => {}, // it is closed below
    );
    await clock.run(10_000);
    assert.equal(hasStarted, false);
    await clock.until(store[Symbol.asyncDispose]());
  });
});
