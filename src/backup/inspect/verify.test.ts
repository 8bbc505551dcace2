// Samples of a backup that was just written, and counts by collection.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { addBackup } from '../../../test/support/an-archive.ts';
import { Repository } from '../archive/repository.adapter.ts';
import { BackupError } from '../format/backup-error.ts';
import { countedBucket } from '../format/collection-counts.ts';
import { FrameKind } from '../format/frame.ts';
import type { BackupManifest } from '../format/manifest.ts';
import { KnownCluster } from '../host/known-cluster.ts';
import { runJob } from '../host/run-job.adapter.ts';
import { verifyBackup, verifySample } from './verify.ts';

const { signal } = new AbortController();
const verification = { clock: realClock, signal };

describe('a backup that was just written', () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-sample-'));
  let manifest: BackupManifest;
  let path = '';

  before(() => {
    const documents = Array.from({ length: 10 }, (_, n) => ({ key: `k${n}` }));
    const deletion = { key: 'gone', kind: FrameKind.deletion, value: Buffer.alloc(0), datatype: 0 };
    manifest = addBackup(folder, [...documents, deletion]);
    path = join(folder, manifest.name, '0.data');
  });
  after(() => rmSync(folder, { recursive: true }));

  const sample = () =>
    verifySample(Repository.open(folder), manifest.name, { ...verification, random: realRandom });
  const whole = (read = manifest) =>
    verifyBackup(Repository.open(folder), read, { ...verification, isWanted: () => true });
  const check = () =>
    runJob({ kind: 'check', folder }, { signal, cluster: new KnownCluster(realClock), progress: () => {} });

  it('has its documents counted by collection, without deletions', async () => {
    assert.deepEqual(manifest.buckets[0]?.collections, [
      { id: 0, scope: '_default', name: '_default', maxTtl: 0, documents: 10 },
    ]);
    assert.equal((await whole())[0]?.documents, 10);
    const [bucket] = manifest.buckets;
    const wrong = { ...bucket, collections: [{ ...bucket?.collections[0], documents: 9 }] };
    await assert.rejects(
      whole({ ...manifest, buckets: [wrong] } as BackupManifest),
      /collection _default\._default has 10 documents; its manifest states 9$/,
    );
  });

  it('has no counts by collection where an earlier release captured a part of it', () => {
    const [{ vbuckets, ...bucket } = assert.fail('no bucket')] = manifest.buckets;
    const [record = assert.fail('no vbucket')] = vbuckets;
    assert.deepEqual(countedBucket(bucket, [{ ...record, documents: 1 }]).collections, bucket.collections);
  });

  it('may have a document that its client stored in another vbucket than that of its key', async () => {
    const archive = mkdtempSync(join(tmpdir(), 'divan-sample-'));
    const { name } = addBackup(archive, [{ key: 'k', vb: 0 }]);
    await verifySample(Repository.open(archive), name, { ...verification, random: realRandom });
    rmSync(archive, { recursive: true });
  });

  it('is found to be damaged when a byte of it has changed, or the size of a file', async () => {
    await sample();
    await check();
    const original = readFileSync(path);
    // In the header of the first block, and in the last block.
    for (const offset of [40, original.length - 5]) {
      const damaged = Buffer.from(original);
      damaged[offset] = (damaged[offset] as number) ^ 1;
      writeFileSync(path, damaged);
      await assert.rejects(sample(), BackupError, `byte ${offset}`);
    }
    writeFileSync(path, original);
    truncateSync(path, original.length - 1);
    await assert.rejects(sample(), /bytes; its manifest states/);
    await assert.rejects(check(), /bytes; its manifest states/);
    writeFileSync(path, original);
    await sample();
    writeFileSync(join(folder, manifest.name, 'manifest.json'), '{"format":"divan-backup"');
    await assert.rejects(sample(), /manifest/);
    await assert.rejects(check(), /manifest/);
  });
});
