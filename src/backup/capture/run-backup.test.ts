// What a backup continues: an interrupted one, an earlier one, or nothing.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { hexId, realRandom } from '#ports/random.ts';
import { aManifest } from '../../../test/support/a-manifest.ts';
import { addBackup } from '../../../test/support/an-archive.ts';
import { Repository } from '../archive/repository.adapter.ts';
import { bucketsMax } from '../format/manifest.ts';
import { BackupNode, type NodeBucket } from '../node/backup-node.ts';
import { runBackup } from './run-backup.adapter.ts';

const bucket = { name: 'b', uuid: aManifest().buckets[0]?.uuid as string, settings: {}, itemCount: 0 };

/** A node whose data ports cannot be reached: each backup is interrupted. */
class NodeWithoutDocuments extends BackupNode {
  present: NodeBucket[] = [bucket];

  constructor() {
    super({ host: '127.0.0.1', port: 1, username: 'u', password: 'p' });
  }

  override identity = async () => ({ cluster: 'c', version: '' });
  override buckets = async () => this.present;
  override bucket = async () => bucket;
  override indexes = async () => [];
  override routes = async () => {
    throw new Error('no documents');
  };
}

let folder = '';
let node: NodeWithoutDocuments;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'divan-run-backup-'));
  node = new NodeWithoutDocuments();
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs a backup, which is interrupted; resolves with the reason. */
async function interruptedBackup(): Promise<string> {
  const { signal } = new AbortController();
  const request = { folder, buckets: [], isFull: false, purges: false };
  const context = { node, clock: realClock, random: realRandom, signal, progress: () => {} };
  return runBackup(request, context).then(
    () => assert.fail('the backup was not interrupted'),
    (error: Error) => error.message,
  );
}

describe('an interrupted incremental backup', () => {
  const startedMs = Date.UTC(2026, 0);
  let full = '';
  let partial = '';

  const repository = () => Repository.openOrCreate(folder, realRandom);
  const partials = () =>
    repository()
      .partial()
      .map((name) => repository().readPartial(name));

  beforeEach(() => {
    full = addBackup(folder, [{ key: 'a' }], { startedMs }).name;
    const after = addBackup(folder, [{ key: 'b' }], { startedMs: startedMs + 1 });
    const clock = { ...realClock, wallMs: () => startedMs + 2 };
    const content = { after: { name: after.name, id: after.id }, buckets: [bucket] };
    partial = repository().begin(clock, hexId(realRandom), content).name;
  });

  it('is resumed', async () => {
    assert.match(await interruptedBackup(), /no documents/);
    assert.deepEqual(repository().partial(), [partial]);
  });

  it('is replaced by a full backup if the chain that it continues has a gap', async () => {
    repository().remove(full);
    assert.match(await interruptedBackup(), /no documents/);
    assert.deepEqual(
      partials().map((one) => one?.after),
      [null],
    );
    assert.notDeepEqual(repository().partial(), [partial]);
  });

  it('is replaced by one that continues the remaining backup if its predecessor is gone', async () => {
    const [, after = ''] = repository().complete();
    repository().remove(after);
    assert.match(await interruptedBackup(), /no documents/);
    assert.deepEqual(
      partials().map((one) => one?.after?.name),
      [full],
    );
  });

  it('is replaced if another backup now has the name of the one that it continues', async () => {
    repository().remove(partial);
    const [, name = ''] = repository().complete();
    const after = { name, id: '0'.repeat(32) };
    repository().begin(realClock, hexId(realRandom), { after, buckets: [bucket] });
    assert.match(await interruptedBackup(), /no documents/);
    assert.deepEqual(
      partials().map((one) => [one?.after?.name, one?.after?.id === after.id]),
      [[name, false]],
    );
  });
});

it('a backup of more buckets than a reader accepts is refused', async () => {
  node.present = Array.from({ length: bucketsMax + 1 }, (_, n) => ({ ...bucket, name: `b${n}` }));
  assert.match(await interruptedBackup(), /--bucket: a backup has at most 1000 buckets, the node has 1001/);
});
