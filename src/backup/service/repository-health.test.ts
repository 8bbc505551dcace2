// What keeps the next backup of a repository from succeeding: its bucket, its archive, the space there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { LocationError } from './archive-locations.adapter.ts';
import { BackupMetrics } from './backup-metrics.ts';
import { type BackupState, noBackupState, type StoredRepository } from './backup-state.ts';
import { RepositoryHealth } from './repository-health.ts';

const repository: StoredRepository = {
  id: 'r',
  state: 'active',
  plan: 'p',
  bucket: null,
  archive: '/archive',
  repo: 'repo',
  createdMs: 0,
  updatedMs: 0,
  nextRuns: {},
};
const value: BackupState = {
  ...noBackupState,
  repositories: { ...noBackupState.repositories, active: { r: repository } },
};
const state = { value, change: () => assert.fail('nothing changes'), onChange: () => ({ stop: () => {} }) };

test('the issue of a repository names its bucket, archive or space, and is null once the problem is gone', async () => {
  let [problem, refusal, freeBytes] = [null as string | null, null as string | null, 1 << 30];
  let jobs = 0;
  const metrics = new BackupMetrics();
  const health = new RepositoryHealth({
    state,
    metrics,
    clock: new ManualClock(),
    locations: {
      check: async () => {
        if (refusal !== null) throw new LocationError(refusal);
      },
      freeBytes: async () => freeBytes,
      hasRepository: async () => true,
    },
    runner: {
      run: async () => {
        jobs++;
        return null as never;
      },
    },
    isBusy: () => false,
    bucketProblem: async () => problem,
  });
  const issue = async (): Promise<string | null> => {
    await health.check();
    return health.issueOf('r');
  };
  assert.equal(await issue(), null);
  problem = 'the bucket does not exist';
  assert.equal(await issue(), 'cannot verify bucket exists: the bucket does not exist');
  [problem, refusal] = [null, '/archive did not answer in 10 s'];
  assert.equal(await issue(), '/archive did not answer in 10 s');
  [refusal, freeBytes] = [null, 99 << 20];
  assert.equal(await issue(), '/archive has 99 MiB free; a backup needs 100 MiB');
  freeBytes = 100 << 20;
  assert.equal(await issue(), null);
  assert.equal(jobs, 2);
  const results = [...metrics.collect()].map(({ labels, value: count }) => [labels['result'], count]);
  assert.deepEqual(results, [
    ['success', 2],
    ['failure', 3],
  ]);
  health.start();
  await eventually(() => assert.equal(jobs, 3));
  health.stop();
});
