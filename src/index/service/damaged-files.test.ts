import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { aDefinition, compileSimply } from '../../../test/support/simple-index-language.ts';
import { IndexFolder } from '../store/index-folder.adapter.ts';
import { BucketIndexes } from './bucket-indexes.ts';

test('a file that becomes damaged while another index is dropped is replaced, and no group uses the old one', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-damaged-'));
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const indexes = new BucketIndexes({
    address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port, timeoutMs: 1_000 },
    account: { username: 'u', password: 'p' },
    bucket: { name: 'b', uuid: 'ab' },
    routes: () => null,
    store: new IndexFolder(folder, silentLog),
    compile: compileSimply,
    shares: () => ({ cacheBytes: 1 << 20, stageBytes: 1 << 20 }),
    clock: realClock,
    random: realRandom,
    log: silentLog,
    changed() {},
  });
  t.after(async () => {
    await indexes.stop();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const [kept, dropped] = [aDefinition(['`a`']), aDefinition(['`b`'])];
  await indexes.setIndexes([kept]);
  await indexes.setIndexes([kept, dropped]);
  const before = indexes['members'].get(kept.id);
  const dropping = indexes.setIndexes([kept]);
  // The reconciliation begins to stop the groups in these steps.
  for (let step = 0; step < 3; step++) await Promise.resolve();
  await Promise.all([dropping, indexes.replaceFile(kept.id)]);
  const current = indexes['members'].get(kept.id);
  assert.notEqual(current, before);
  assert.deepEqual(
    indexes['groups'].map((group) => group.indexes),
    [[current]],
  );
});
