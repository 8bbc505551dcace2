// Random histories, backed up at random moments and restored into an empty node: the bucket must have every document as it was, and no other.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { findBackup } from '#backup/archive/repository.adapter.ts';
import { type BackupRequest, runBackup } from '#backup/capture/run-backup.adapter.ts';
import { runMerge } from '#backup/merge/run-merge.adapter.ts';
import type { BackupNode } from '#backup/node/backup-node.ts';
import { type RestoreRequest, runRestore } from '#backup/restore/run-restore.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { BackupHistory } from '../support/backup-history.ts';
import { type BucketState, backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { NodeProcess } from '../support/node-process.ts';
import { aSeed, type Random } from '../support/random.ts';

const signal = new AbortController().signal;

describe('backups of random histories', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-backup-'));
  let source: NodeProcess;
  let target: NodeProcess;

  before(async () => {
    source = await NodeProcess.start();
    target = await NodeProcess.start();
  });
  after(async () => {
    await source?.[Symbol.asyncDispose]();
    await target?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  const backup = (node: BackupNode, folder: string, overrides: Partial<BackupRequest> = {}) =>
    runBackup(
      { folder, buckets: ['b'], isFull: false, purges: false, ...overrides },
      { node, clock: realClock, random: realRandom, signal, progress: () => {} },
    );

  const restore = (node: BackupNode, folder: string, overrides: Partial<RestoreRequest> = {}) =>
    runRestore(
      {
        folder,
        buckets: [],
        map: [],
        replaces: false,
        isForced: false,
        createsBuckets: true,
        withIndexes: true,
        resumes: false,
        awaitsDisk: false,
        ...overrides,
      },
      { node, clock: realClock, signal, progress: () => {} },
    );

  async function makeBucket(node: NodeProcess, conflictResolutionType: string): Promise<BackupNode> {
    const access = backupNode(node);
    await node.request('/pools/default/buckets/b', 'DELETE');
    await access.createBucket('b', {
      ramQuotaMB: 100,
      replicaNumber: 0,
      conflictResolutionType,
      flushEnabled: 1,
    });
    await access.addCollections('b', { scopes: ['shop'], collections: [] });
    return access;
  }

  for (const conflictResolution of ['seqno', 'lww'])
    it(`restores the state of each backup, with ${conflictResolution} conflict resolution`, async (t: TestContext) => {
      const random = aSeed(t);
      const from = await makeBucket(source, conflictResolution);
      const to = backupNode(target);
      const folder = join(scratch, conflictResolution);
      const history = await BackupHistory.start(random, from, 'b');
      const states = new Map<string, BucketState>();
      // The first backup, one that continues it, and one that continues that one.
      for (let round = 0; round < 3; round++) {
        await history.step(300);
        // A backup while documents are written, whose state is not known exactly; the next one continues it.
        if (random(2) === 0) await Promise.all([history.step(300), backup(from, folder)]);
        const { manifest } = await backup(from, folder, { isFull: random(4) === 0 });
        states.set(manifest.name, await stateOf(from, 'b'));
        t.diagnostic(`${manifest.name} ${manifest.type} ${states.get(manifest.name)?.size}`);
      }
      history.close();
      for (const [name, state] of states) {
        await target.request('/pools/default/buckets/b', 'DELETE');
        await restore(to, folder, { backup: name });
        assert.deepEqual(differences(state, await stateOf(to, 'b')).slice(0, 5), [], `backup ${name}`);
      }
      const size = [...states.values()].at(-1)?.size;
      const again = await restore(to, folder);
      assert.equal(again.buckets[0]?.skipped, size, 'a second restore changes nothing');
      const [first] = states.keys();
      const last = [...states.keys()].at(-1) as string;
      // The bucket has the last state. A restore of the first state with a flush must leave nothing of the last state.
      await restore(to, folder, { backup: first, replaces: true });
      assert.deepEqual(differences(states.get(first as string) as BucketState, await stateOf(to, 'b')), []);
      await restore(to, folder, { backup: last, isForced: true });
      const forced = await stateOf(to, 'b');
      for (const [key, version] of states.get(last) as BucketState)
        assert.deepEqual(forced.get(key), version, `${key} after a forced restore`);
      const merged = await mergeSome(random, folder);
      for (const name of findBackup(folder)
        .repository.complete()
        .filter((one) => states.has(one))) {
        await target.request('/pools/default/buckets/b', 'DELETE');
        await restore(to, folder, { backup: name });
        const wrong = differences(states.get(name) as BucketState, await stateOf(to, 'b')).slice(0, 5);
        assert.deepEqual(wrong, [], `backup ${name} after the merge of ${merged.join(', ')}`);
      }
    });
});

/** Merges two or more backups, chosen at random; resolves with their names. */
async function mergeSome(random: Random, folder: string): Promise<readonly string[]> {
  const names = findBackup(folder).repository.complete();
  const first = random(names.length - 1);
  const last = first + 1 + random(names.length - 1 - first);
  const request = { folder, start: names[first], end: names[last] };
  const context = { clock: realClock, random: realRandom, signal, progress: () => {} };
  return (await runMerge(request, context)).backups;
}
