import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DataPortError, StatusError } from '#client/data-port-error.ts';
import { vbucketCount } from '#client/document-key.ts';
import type { ReachedPosition } from '#client/reached-position.ts';
import { Status } from '#wire/status.ts';
import { ProgressFile } from './progress-file.adapter.ts';
import { RestoreProgress, type TargetHistories } from './restore-progress.ts';

/** A target bucket: by vbucket its failover log, newest entry first, and the seqno of its newest change. */
class Target implements TargetHistories {
  readonly uuid: string;
  readonly logs = new Map<number, ReachedPosition[]>();
  readonly highs = new Float64Array(vbucketCount);
  problem: Error | null = null;

  constructor(uuid: string) {
    this.uuid = uuid;
    for (let vb = 0; vb < vbucketCount; vb++) this.logs.set(vb, [{ uuid: BigInt(vb + 1), seqno: 0 }]);
  }

  /** The vbucket gets a new history, which begins at this seqno. */
  begin(vb: number, seqno: number): void {
    this.logs.get(vb)?.unshift({ uuid: BigInt(vb + 5_000), seqno });
  }

  uuids = async () =>
    BigUint64Array.from({ length: vbucketCount }, (_, vb) => this.logs.get(vb)?.[0]?.uuid ?? 0n);
  failoverLogs = async () => this.logs;
  highSeqnos = async () => {
    if (this.problem !== null) throw this.problem;
    return this.highs;
  };
}

function aRepository(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'divan-restore-progress-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const open = (targets: readonly Target[], resumes = true) => {
    const identity = { backup: 'a', bucket: 'b', targets: targets.map(({ uuid }) => uuid), options: '' };
    return RestoreProgress.open(new ProgressFile(folder, identity), targets, resumes);
  };
  /** A restore that ended when it had restored the vbuckets below 8; each of them has ten changes. */
  const interrupted = async (targets: readonly Target[]) => {
    for (const target of targets) target.highs.fill(10);
    const progress = await open(targets);
    await progress.note(5);
    await progress.note(8);
  };
  return { open, interrupted };
}

test('a restore is resumed after the vbuckets that are restored, also if they have moved since', async (t) => {
  const { open, interrupted } = aRepository(t);
  const target = new Target('t');
  await interrupted([target]);
  assert.equal((await open([target])).next, 8);
  for (const vb of [0, 7]) target.begin(vb, 10);
  target.begin(100, 3);
  assert.equal((await open([target])).next, 8);
  assert.equal((await open([target], false)).next, 0, 'the restore is not resumed');
  assert.equal((await open([new Target('other')])).next, 0, 'another bucket');
});

test('a restore is resumed with the first vbucket that lost changes in one of its target buckets', async (t) => {
  const { open, interrupted } = aRepository(t);
  const targets = [new Target('one'), new Target('two')] as const;
  await interrupted(targets);
  targets[0].begin(6, 9);
  targets[1].begin(3, 0);
  const progress = await open(targets);
  assert.equal(progress.next, 3);
  await progress.note(4);
  assert.equal((await open(targets)).next, 4, 'the position in the new histories is noted');
  targets[1].highs[1] = 9;
  assert.equal((await open(targets)).next, 1);
});

test('what was written before a loss of changes does not count as restored, although the loss came before the next note', async (t) => {
  const { open } = aRepository(t);
  const target = new Target('t');
  const progress = await open([target]);
  target.begin(2, 0);
  target.highs.fill(10);
  await progress.note(8);
  assert.equal((await open([target])).next, 2);
});

test('a restore by a user who may not read seqnos begins again, and one without a connection fails', async (t) => {
  const { open } = aRepository(t);
  const target = new Target('t');
  target.problem = new StatusError(0, Status.noAccess);
  await (await open([target])).note(8);
  target.problem = null;
  assert.equal((await open([target])).next, 0);
  target.problem = new DataPortError('lost');
  await assert.rejects((await open([target], false)).note(8), /lost/);
});
