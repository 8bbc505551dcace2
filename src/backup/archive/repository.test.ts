// The names of backups, the sizes of manifests, and that calls which fail close their files.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { hexId, realRandom } from '#ports/random.ts';
import { aManifest } from '../../../test/support/a-manifest.ts';
import { addBackup, addPartial } from '../../../test/support/an-archive.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { BackupManifest, BucketRecord } from '../format/manifest.ts';
import { DataReader, DataWriter } from './data-file.adapter.ts';
import { Repository } from './repository.adapter.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'divan-repository-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const aRepository = () => Repository.openOrCreate(folder, realRandom);

function begin(repository: Repository, clock = new ManualClock()) {
  return repository.begin(clock, hexId(realRandom), { after: null, buckets: [] });
}

describe('the name of a backup', () => {
  it('sorts after all others even if the clock was set back, and is a name that the repository lists', () => {
    const repository = aRepository();
    for (const other of ['2099-01-01T00_00_00.000Z-999', '2099-01-01T00_00_00.005Z']) {
      mkdirSync(join(folder, other));
      const { name } = begin(repository);
      assert.ok(name > other, name);
      assert.ok(repository.partial().includes(name), name);
    }
  });

  it('is refused if no name can be later than that of an existing folder', () => {
    mkdirSync(join(folder, '9999-12-31T23_59_59.999Z'));
    assert.throws(
      () => begin(aRepository()),
      /no name of a backup can sort after 9999-12-31T23_59_59.999Z: remove/,
    );
    rmSync(join(folder, '9999-12-31T23_59_59.999Z'), { recursive: true });
    mkdirSync(join(folder, '2099-99-99T99_99_99.999Z'));
    assert.throws(
      () => begin(aRepository()),
      /no name of a backup can sort after 2099-99-99T99_99_99.999Z: remove/,
    );
  });
});

describe('the manifest of a backup', () => {
  const withBuckets = (repository: Repository, count: number): BackupManifest => {
    const [bucket = assert.fail('no bucket')] = aManifest().buckets;
    const buckets = Array.from({ length: count }, (_, n): BucketRecord => ({ ...bucket, name: `b${n}` }));
    return { ...aManifest(), ...begin(repository), repository: repository.id, buckets };
  };

  it('may have more than a hundred buckets', () => {
    const repository = aRepository();
    const manifest = withBuckets(repository, 101);
    repository.finish(manifest);
    assert.deepEqual(repository.complete(), [manifest.name]);
  });

  it('is written one bucket in each turn of the event loop, and is read as it was written', async () => {
    const repository = aRepository();
    const manifest = withBuckets(repository, 3);
    let turns = 0;
    const soon = (act: () => void): void => {
      turns++;
      setImmediate(act);
    };
    const clock = { soon };
    const text = await repository.manifestText(manifest, clock);
    assert.deepEqual([turns, JSON.parse(text)], [3, manifest]);
    repository.finish(manifest, text);
    assert.deepEqual(repository.manifest(manifest.name), manifest);
    const [bucket] = manifest.buckets as [BucketRecord];
    for (const [wrong, reason] of [
      [{ ...bucket, bytes: -1 }, /buckets\.3\.bytes: must be an integer/],
      [
        { ...bucket, vbuckets: bucket.vbuckets.map((vb) => ({ ...vb, from: 2, to: 1 })) },
        /do not fit together/,
      ],
      [bucket, /buckets: two have the same name/],
    ] as const)
      await assert.rejects(
        repository.manifestText({ ...manifest, buckets: [...manifest.buckets, wrong] }, clock),
        reason,
      );
  });

  it('is not written if a reader would refuse it', () => {
    const repository = aRepository();
    const manifest = withBuckets(repository, 1);
    const wrong = { ...manifest, buckets: [...manifest.buckets, ...manifest.buckets] };
    assert.throws(() => repository.finish(wrong), /buckets: two have the same name/);
    assert.deepEqual(repository.complete(), []);
    repository.finish(manifest);
    assert.throws(() => repository.replaceManifest(wrong), /buckets: two have the same name/);
    assert.deepEqual(repository.manifest(manifest.name).buckets, manifest.buckets);
  });
});

describe('an interrupted backup', () => {
  it('of 1,000 buckets is read with all of them, and a later backup can begin', () => {
    const repository = aRepository();
    const buckets = Array.from({ length: 1_000 }, (_, n) => ({ name: `b${n}`, uuid: `u${n}` }));
    const { name } = repository.begin(new ManualClock(), hexId(realRandom), { after: null, buckets });
    assert.equal(repository.readPartial(name)?.buckets.length, 1_000);
    assert.ok(addPartial(folder) > join(folder, name));
  });
});

const skip = process.platform === 'linux' ? false : 'it counts descriptors in /proc and needs /dev/full';

describe('a data file that cannot be used', { skip }, () => {
  it('is closed', () => {
    const { name, id } = addBackup(folder, [{ key: 'k' }]);
    const owner = aRepository().dataOwner({ id }, 0);
    const path = join(folder, name, '0.data');
    const other = join(folder, 'other');
    writeFileSync(other, 'no data file');
    const openFiles = () => readdirSync('/proc/self/fd').length;
    const before = openFiles();
    const keptBytes = 32;
    assert.throws(() => DataWriter.create('/dev/full', owner), /ENOSPC/);
    assert.throws(() => DataWriter.reopen('/dev/full', owner, keptBytes), /EINVAL/);
    assert.throws(() => new DataReader(other, owner), /is not the data file/);
    assert.throws(() => new DataReader(path, { ...owner, bucket: -1 }), RangeError);
    assert.equal(openFiles(), before);
  });
});
