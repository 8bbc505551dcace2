// Tasks by schedule, on a manual clock: they run when they are due, one for each repository, and survive a restart.
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { addBackup } from '../../../test/support/an-archive.ts';
import { BackupHarness } from '../../../test/support/backup-harness.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { RepositoryInUseError } from '../host/jobs.ts';
import { KnownCluster } from '../host/known-cluster.ts';
import { runJob } from '../host/run-job.adapter.ts';

const start = '2026-11-23T10:00:00Z';
const hourMs = 3_600_000;
/** A task whose repository is in use tries again after this time. */
const retryMs = 10_000;
const minutely = (name: string, frequency: number, full_backup = false) => ({
  name,
  task_type: 'BACKUP',
  full_backup,
  schedule: { frequency, period: 'MINUTES' },
});
const merge = {
  name: 'merge',
  task_type: 'MERGE',
  schedule: { frequency: 30, period: 'MINUTES' },
  options: { offset_start: 0, offset_end: 1 },
};

/** Advances the clock until that many jobs run, in short steps: an access to the archive fails when it takes ten seconds of this clock. */
async function untilJobs(harness: BackupHarness, count: number, stepMs = 100): Promise<void> {
  await eventually(() => {
    if (harness.jobs.length !== count) harness.clock.advance(stepMs);
    assert.equal(harness.jobs.length, count);
  });
}

/** Resolves when no task runs any more. */
const untilIdle = (harness: BackupHarness): Promise<void> =>
  eventually(() => assert.deepEqual(harness.service.running.all(), []));

async function history(harness: BackupHarness) {
  const records = await harness.service.repositories.history('active', 'travel');
  return records.map(({ name, status }) => `${name} ${status}`);
}

describe('the schedule of a repository', () => {
  it('runs a task when it is due, and stores before that when it is due next', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([minutely('often', 20, true)]);
    harness.clock.advance(19 * 60_000);
    await eventually(() => assert.ok(harness.clock.pending > 0));
    assert.equal(harness.jobs.length, 0);
    harness.clock.advance(60_000);
    await untilJobs(harness, 1);
    const next = harness.state.value.repositories.active['travel']?.nextRuns['often'];
    assert.equal(next, Date.parse(start) + 40 * 60_000);
    const job = harness.jobs[0]?.job;
    assert.ok(job?.kind === 'backup' && job.isFull);
    assert.deepEqual(
      [job.buckets, job.folder.startsWith(join(harness.folder, 'travel'))],
      [['travel'], true],
    );
    harness.finish();
    await untilIdle(harness);
    assert.deepEqual(await history(harness), ['often done']);
    await harness.end();
  });

  it('runs one task at a time, and then the one that waited', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([minutely('backup', 30), merge]);
    harness.clock.advance(30 * 60_000);
    await untilJobs(harness, 1);
    assert.equal(harness.jobs[0]?.job.kind, 'backup');
    harness.finish();
    await untilJobs(harness, 1);
    assert.equal(harness.jobs[0]?.job.kind, 'merge');
    harness.finish();
    await untilIdle(harness);
    assert.deepEqual((await history(harness)).toSorted(), ['backup done', 'merge done']);
    await harness.end();
  });

  it('runs a task whose repository a command uses once the command has ended, or fails after twelve hours', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([{ ...minutely('backup', 24), schedule: { frequency: 24, period: 'HOURS' } }]);
    const inUse = () => harness.finish(new RepositoryInUseError('process 1 writes there'));
    harness.clock.advance(24 * hourMs);
    await untilJobs(harness, 1);
    inUse();
    await untilJobs(harness, 1, retryMs);
    harness.finish();
    await untilIdle(harness);
    assert.deepEqual([await history(harness), harness.failures], [['backup done'], []]);
    harness.clock.advance(24 * hourMs);
    await untilJobs(harness, 1);
    harness.clock.advance(12 * hourMs);
    inUse();
    await untilIdle(harness);
    assert.deepEqual(await history(harness), ['backup failed', 'backup done']);
    assert.match(harness.failures[0] ?? '', /process 1 writes there/);
    const requested = harness.service.repositories.get('active', 'travel');
    await harness.service.tasks.requestBackup(requested, Buffer.from(''));
    await untilJobs(harness, 1);
    inUse();
    await untilIdle(harness);
    assert.match(harness.failures[1] ?? '', /process 1 writes there/);
    await harness.end();
  });

  it('runs tasks of two repositories at the same time', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([minutely('backup', 30)]);
    await harness.createRepository('second');
    harness.clock.advance(30 * 60_000);
    await untilJobs(harness, 2);
    await harness.end();
  });

  it('runs a task once after a restart, although it was due several times before', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([minutely('backup', 60)]);
    await harness.end();
    harness.clock.advance(5 * hourMs + 60_000);
    await harness.restart();
    await untilJobs(harness, 1);
    harness.finish();
    await untilIdle(harness);
    const next = harness.state.value.repositories.active['travel']?.nextRuns['backup'];
    assert.equal(next, Date.parse(start) + 6 * hourMs);
    assert.equal(harness.jobs.length, 0);
    await harness.end();
  });

  it('reports a task that the end of the node interrupted', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([minutely('backup', 60)]);
    harness.clock.advance(hourMs);
    await untilJobs(harness, 1);
    const { archive = '', repo } = harness.state.value.repositories.active['travel'] ?? {};
    const path = join(archive, `${repo}.tasks.jsonl`);
    // What a killed node leaves: the line of the start, and the beginning of another.
    const killed = `${readFileSync(path, 'utf8').split('\n')[0]}\n{"run":`;
    await harness.end();
    rmSync(path);
    appendFileSync(path, killed);
    await harness.restart();
    assert.deepEqual(await history(harness), ['backup failed']);
    const [record] = await harness.service.repositories.history('active', 'travel');
    assert.equal(record?.error, 'the node ended during the task');
    const orphaned = () =>
      [...harness.service.metrics.collect()].find(({ name }) => name === 'backup_task_orphaned')?.value;
    await eventually(() => assert.equal(orphaned(), 1));
    await eventually(() =>
      assert.match(readFileSync(path, 'utf8'), /"status":"failed".*the node ended during the task/),
    );
    await harness.restart();
    assert.deepEqual(await history(harness), ['backup failed']);
    assert.equal(orphaned(), undefined);
    await harness.end();
  });

  it('runs nothing while it is paused, and leaves out the runs that it missed', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([minutely('backup', 60)]);
    await harness.service.repositories.pause('travel');
    harness.clock.advance(3 * hourMs + 60_000);
    await harness.service.repositories.resume('travel');
    const next = harness.state.value.repositories.active['travel']?.nextRuns['backup'];
    assert.equal(next, Date.parse(start) + 4 * hourMs);
    assert.equal(harness.jobs.length, 0);
    harness.clock.advance(hourMs);
    await untilJobs(harness, 1);
    await harness.end();
  });

  it('does nothing while another node runs it', async () => {
    using harness = new BackupHarness(start);
    harness.isScheduleHere = false;
    await harness.begin([minutely('backup', 1)]);
    harness.clock.advance(5 * 60_000);
    await eventually(() => assert.ok(harness.clock.pending > 0));
    assert.equal(harness.jobs.length, 0);
    harness.isScheduleHere = true;
    harness.clock.advance(60_000);
    await untilJobs(harness, 1);
    await harness.end();
  });

  it('follows the wall clock when it is set', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([minutely('backup', 200)]);
    await eventually(() => assert.ok(harness.clock.pending > 0));
    harness.clock.setWall(200 * 60_000);
    harness.clock.advance(60_000);
    await untilJobs(harness, 1);
    await harness.end();
  });

  it('runs a task that was planned before the clock was set back, and then by its schedule', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([minutely('backup', 200)]);
    await eventually(() => assert.ok(harness.clock.pending > 0));
    harness.clock.setWall(240 * hourMs);
    harness.clock.advance(60_000);
    await untilJobs(harness, 1);
    harness.finish();
    await untilIdle(harness);
    harness.clock.setWall(0);
    harness.clock.advance(60_000);
    await untilJobs(harness, 1);
    const next = harness.state.value.repositories.active['travel']?.nextRuns['backup'];
    assert.ok((next ?? Infinity) <= harness.clock.wallMs() + 200 * 60_000);
    await harness.end();
  });

  it('reports failures, refuses a second task, and counts both', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([minutely('backup', 60)]);
    const repository = harness.service.repositories.get('active', 'travel');
    await harness.service.tasks.requestBackup(repository, Buffer.from(''));
    await assert.rejects(
      harness.service.tasks.requestBackup(repository, Buffer.from('{}')),
      /runs on repository travel/,
    );
    assert.deepEqual(
      harness.service.shownTasks().map(({ type, repository: id, task_type }) => [type, id, task_type]),
      [['backup', 'travel', 'BACKUP']],
    );
    await untilJobs(harness, 1);
    harness.finish('the disk is full');
    await untilIdle(harness);
    assert.match(
      harness.failures[0] ?? '',
      /^travel: Task .* of the backup repository travel failed: the disk is full$/,
    );
    const samples = [...harness.service.metrics.collect()].map(({ name, labels, value }) => [
      name,
      labels['result'],
      value,
    ]);
    assert.ok(
      samples.some(
        ([name, result, value]) => name === 'backup_task_run' && result === 'failure' && value === 1,
      ),
    );
    assert.ok(
      samples.some(
        ([name, result, value]) => name === 'backup_dispatched' && result === 'failure' && value === 1,
      ),
    );
    await harness.end();
  });

  it('shows the repository as unhealthy once its bucket has another UUID, and checks it again each hour', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([]);
    await eventually(() => assert.equal(harness.service.health.issueOf('travel'), null));
    harness.bucketUuid = 'other';
    await eventually(() => {
      harness.clock.advance(hourMs);
      assert.match(harness.service.health.issueOf('travel') ?? '', /bucket UUIDs don't match uuid != other$/);
    });
    const repository = harness.service.repositories.get('active', 'travel');
    await assert.rejects(
      harness.service.tasks.requestBackup(repository, Buffer.from('')),
      /could not send task/,
    );
    harness.bucketUuid = 'uuid';
    await eventually(() => {
      harness.clock.advance(hourMs);
      assert.equal(harness.service.health.issueOf('travel'), null);
    });
    await harness.end();
  });

  it('shows the repository as unhealthy when its newest backup is damaged', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([]);
    const checks = (): number =>
      [...harness.service.metrics.collect()]
        .filter(({ name }) => name === 'backup_location_check')
        .reduce((sum, { value }) => sum + Number(value), 0);
    // The first check was made when the repository appeared. Without a backup a check needs no job.
    await eventually(() => assert.equal(checks(), 1));
    const { archive = '', repo = '' } = harness.state.value.repositories.active['travel'] ?? {};
    const { name } = addBackup(join(archive, repo), [{ key: 'k' }]);
    const issue = () => harness.service.health.issueOf('travel');
    /** The hourly check, with the job as a node runs it. */
    const check = async () => {
      const before = checks();
      await eventually(() => assert.ok(harness.clock.pending > 0));
      harness.clock.advance(hourMs);
      // From here on the clock is not advanced, since requests to the archive have a deadline on this clock.
      await eventually(() => assert.equal(harness.jobs.length, 1));
      const { job, result } = harness.jobs.shift() ?? assert.fail('no job');
      assert.equal(job.kind, 'check');
      const context = {
        signal: new AbortController().signal,
        progress: () => {},
        cluster: new KnownCluster(harness.clock),
      };
      await runJob(job, context).then(result.resolve, result.reject);
      await eventually(() => assert.equal(checks(), before + 1));
    };
    await check();
    await check();
    assert.equal(issue(), null);
    truncateSync(join(archive, repo, name, '0.data'), 40);
    await check();
    await eventually(() =>
      assert.match(issue() ?? '', /^cannot read the newest backup: .*0\.data has 40 bytes/),
    );
    rmSync(join(archive, repo, name, 'manifest.json'));
    await check();
    await eventually(() => assert.equal(issue(), null));
    await harness.end();
  });

  it('keeps the history within its days and size', async () => {
    using harness = new BackupHarness(start);
    await harness.begin([]);
    await harness.service.settings.change(
      Buffer.from('{"history_rotation_period":1,"history_rotation_size":5}'),
    );
    const run = async () => {
      const repository = harness.service.repositories.get('active', 'travel');
      await harness.service.tasks.requestBackup(repository, Buffer.from(''));
      await untilJobs(harness, 1);
      harness.finish();
      await untilIdle(harness);
    };
    await run();
    const { archive = '', repo } = harness.state.value.repositories.active['travel'] ?? {};
    const path = join(archive, `${repo}.tasks.jsonl`);
    const lines = () => readFileSync(path, 'utf8').trim().split('\n').length;
    assert.equal(lines(), 2);
    harness.clock.advance(25 * hourMs);
    await run();
    assert.equal(lines(), 2);
    const [line = ''] = readFileSync(path, 'utf8').split('\n');
    const padded = { ...JSON.parse(line), about: 'x'.repeat(100_000) };
    for (let n = 0; n < 60; n++) appendFileSync(path, `${JSON.stringify({ ...padded, run: `run-${n}` })}\n`);
    await run();
    assert.ok(readFileSync(path).length < 5 << 20);
    await harness.end();
  });
});
