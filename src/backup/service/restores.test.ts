// Restores that were requested while others run: one into each bucket at a time, by whatever address a request names its cluster.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { addBackup } from '../../../test/support/an-archive.ts';
import { BackupPlanning } from '../../../test/support/backup-planning.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { bucketsWritten, type RestoreRequest } from '../restore/run-restore.adapter.ts';

const target = (address: string) => ({ target: address, user: 'u', password: 'p' });

describe('restores at the same time', () => {
  const restore = (planning: BackupPlanning, id: string, body: object) => {
    const repository = planning.service.repositories.get('active', id);
    return planning.service.tasks.requestRestore('active', repository, Buffer.from(JSON.stringify(body)));
  };
  /** Creates the repositories. As targets, `silent` does not answer, and `far` is of another cluster. */
  const begin = async (ids: readonly string[]) => {
    const planning = new BackupPlanning('2026-11-23T10:00:00Z');
    await planning.begin([]);
    for (const id of ids) await planning.create(id);
    planning.targetsOf = async ({ request: { map }, node: { host } }) => {
      if (host === 'silent') throw new Error('cannot reach it');
      return {
        cluster: host === 'far' ? 'other' : 'own',
        buckets: map.map((rule) => rule.split('=')[1] ?? ''),
      };
    };
    return planning;
  };
  const runningJobs = (planning: BackupPlanning, count: number) =>
    eventually(() => assert.equal(planning.jobs.length, count));

  it('go into different buckets, or buckets of different clusters', async () => {
    using planning = await begin(['second', 'third', 'fourth']);
    await restore(planning, 'travel', { map_data: 'travel=a' });
    await restore(planning, 'second', { map_data: 'travel=b' });
    await restore(planning, 'third', { ...target('http://far:8091'), map_data: 'travel=a' });
    await runningJobs(planning, 3);
    for (const body of [
      { map_data: 'travel=b' },
      { ...target('http://near:9000'), map_data: 'travel=c,travel.s=a' },
      { ...target('far'), map_data: 'travel=a' },
    ])
      await assert.rejects(restore(planning, 'fourth', body), /could not send task/);
    planning.finish();
    await eventually(() => assert.equal(planning.service.running.taskOf('active', 'travel'), undefined));
    await restore(planning, 'fourth', { map_data: 'travel=a' });
    await runningJobs(planning, 3);
    await planning.end();
  });

  it('run one at a time for each address whose cluster is not known', async () => {
    using planning = await begin(['second', 'third']);
    const silent = { ...target('http://silent:8091'), map_data: 'travel=a' };
    await restore(planning, 'travel', silent);
    await assert.rejects(restore(planning, 'second', { ...silent, map_data: 'travel=b' }), (error: Error) =>
      JSON.stringify(error).includes('restores into the same bucket'),
    );
    await restore(planning, 'third', { ...silent, target: 'http://silent:9000' });
    await runningJobs(planning, 2);
    await planning.end();
  });
});

describe('a task that ends', () => {
  it('is shown as ended once the next one can start', async () => {
    using planning = new BackupPlanning('2026-11-23T10:00:00Z');
    await planning.begin([]);
    const { repositories, tasks } = planning.service;
    for (let n = 1; n <= 20; n++) {
      await tasks.requestBackup(repositories.get('active', 'travel'), Buffer.alloc(0));
      await eventually(() => assert.equal(planning.jobs.length, 1));
      planning.finish();
      for (let isEnded = false; !isEnded; ) {
        const records = await repositories.history('active', 'travel');
        isEnded = records.length === n && records.every(({ status }) => status === 'done');
      }
    }
    await planning.end();
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
