// Restores that were requested while others run: one into each bucket at a time, by whatever address a request names its cluster.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { addBackup } from '../../../test/support/an-archive.ts';
import { BackupHarness } from '../../../test/support/backup-harness.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { bucketsWritten, type RestoreRequest } from '../restore/run-restore.adapter.ts';

const target = (address: string) => ({ target: address, user: 'u', password: 'p' });

describe('restores at the same time', () => {
  const restore = (harness: BackupHarness, id: string, body: object) => {
    const repository = harness.service.repositories.get('active', id);
    return harness.service.tasks.requestRestore('active', repository, Buffer.from(JSON.stringify(body)));
  };
  /** Creates the repositories. As targets, `silent` does not answer, and `far` is of another cluster. */
  const begin = async (ids: readonly string[]) => {
    const harness = new BackupHarness('2026-11-23T10:00:00Z');
    await harness.begin([]);
    for (const id of ids) await harness.createRepository(id);
    harness.targetsOf = async ({ request: { map }, node: { host } }) => {
      if (host === 'silent') throw new Error('cannot reach it');
      return {
        cluster: host === 'far' ? 'other' : 'own',
        buckets: map.map((rule) => rule.split('=')[1] ?? ''),
      };
    };
    return harness;
  };
  const runningJobs = (harness: BackupHarness, count: number) =>
    eventually(() => assert.equal(harness.jobs.length, count));

  it('go into different buckets, or buckets of different clusters', async () => {
    using harness = await begin(['second', 'third', 'fourth']);
    await restore(harness, 'travel', { map_data: 'travel=a' });
    await restore(harness, 'second', { map_data: 'travel=b' });
    await restore(harness, 'third', { ...target('http://far:8091'), map_data: 'travel=a' });
    await runningJobs(harness, 3);
    for (const body of [
      { map_data: 'travel=b' },
      { ...target('http://near:9000'), map_data: 'travel=c,travel.s=a' },
      { ...target('far'), map_data: 'travel=a' },
    ])
      await assert.rejects(restore(harness, 'fourth', body), /could not send task/);
    harness.finish();
    await eventually(() => assert.equal(harness.service.running.taskOf('active', 'travel'), undefined));
    await restore(harness, 'fourth', { map_data: 'travel=a' });
    await runningJobs(harness, 3);
    await harness.end();
  });

  it('run one at a time for each address whose cluster is not known', async () => {
    using harness = await begin(['second', 'third']);
    const silent = { ...target('http://silent:8091'), map_data: 'travel=a' };
    await restore(harness, 'travel', silent);
    await assert.rejects(restore(harness, 'second', { ...silent, map_data: 'travel=b' }), (error: Error) =>
      JSON.stringify(error).includes('restores into the same bucket'),
    );
    await restore(harness, 'third', { ...silent, target: 'http://silent:9000' });
    await runningJobs(harness, 2);
    await harness.end();
  });
});

describe('a task that ends', () => {
  it('is shown as ended once the next one can start', async () => {
    using harness = new BackupHarness('2026-11-23T10:00:00Z');
    await harness.begin([]);
    const { repositories, tasks } = harness.service;
    for (let n = 1; n <= 20; n++) {
      await tasks.requestBackup(repositories.get('active', 'travel'), Buffer.alloc(0));
      await eventually(() => assert.equal(harness.jobs.length, 1));
      harness.finish();
      for (let isEnded = false; !isEnded; ) {
        const records = await repositories.history('active', 'travel');
        isEnded = records.length === n && records.every(({ status }) => status === 'done');
      }
    }
    await harness.end();
  });
});

describe('the buckets that a restore writes to', () => {
  it('are those of the backup, as mapped and chosen', () => {
    const folder = mkdtempSync(join(tmpdir(), 'divan-restores-'));
    try {
      addBackup(folder, [{ key: 'k' }]);
      const written = (changes: Partial<RestoreRequest>) =>
        bucketsWritten({
          folder,
          buckets: [],
          map: [],
          replaces: false,
          isForced: false,
          createsBuckets: false,
          withIndexes: false,
          resumes: false,
          awaitsDisk: false,
          ...changes,
        });
      assert.deepEqual(written({}), ['b']);
      assert.deepEqual(written({ map: ['b=c'] }), ['c']);
      assert.deepEqual(written({ map: ['b._default._default=d.s.c'] }), ['b', 'd']);
      assert.deepEqual(written({ excludes: ['b'] }), []);
      assert.throws(() => written({ map: ['x=c'] }), /the backup has no bucket, scope or collection "x"/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
