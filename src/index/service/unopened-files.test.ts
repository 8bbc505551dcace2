import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { IndexFolder } from '../store/index-folder.adapter.ts';
import { BucketIndexes } from './bucket-indexes.ts';

test('the reason for which an index cannot be opened is logged once, and again when it changes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-unopened-'));
  const clock = new ManualClock();
  const logged: unknown[] = [];
  let [reason, attempts] = ['no memory', 0];
  const indexes = new BucketIndexes({
    address: { host: '127.0.0.1', port: 1, timeoutMs: 1_000 },
    account: { username: 'u', password: 'p' },
    bucket: { name: 'b', uuid: 'ab' },
    routes: () => null,
    store: new IndexFolder(folder, silentLog),
    compile: () => {
      attempts++;
      throw new Error(reason);
    },
    shares: () => ({ cacheBytes: 1 << 20, stageBytes: 1 << 20 }),
    clock,
    random: realRandom,
    log: { ...silentLog, error: (event, fields) => void logged.push([event, fields?.['reason']]) },
    changed() {},
  });
  try {
    await indexes.setIndexes([aDefinition(['`a`'])]);
    for (let retry = 0; retry < 4; retry++) {
      if (retry === 2) reason = 'no space';
      clock.advance(1_000);
      await indexes['work'];
    }
    assert.equal(attempts, 5);
    assert.deepEqual(logged, [
      ['index.open_failed', 'no memory'],
      ['index.open_failed', 'no space'],
    ]);
    assert.equal(indexes.report()[0]?.state, 'offline');
  } finally {
    await indexes.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
