import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Clock, realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aDefinition, compileSimply } from '../../../test/support/simple-index-language.ts';
import { IndexFolder } from '../store/index-folder.adapter.ts';
import type { IndexFile } from '../store/index-store.ts';
import { BucketIndexes } from './bucket-indexes.ts';

async function startedIndexes(
  t: TestContext,
  { clock = realClock, onOpen }: { clock?: Clock; onOpen?: (file: IndexFile) => void } = {},
): Promise<BucketIndexes> {
  const folder = mkdtempSync(join(tmpdir(), 'divan-damaged-'));
  const store = new IndexFolder(folder, silentLog);
  const open = store.open.bind(store);
  store.open = (identity) => {
    const file = open(identity);
    onOpen?.(file);
    return file;
  };
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const indexes = new BucketIndexes({
    address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port, timeoutMs: 1_000 },
    account: { username: 'u', password: 'p' },
    bucket: { name: 'b', uuid: 'ab' },
    routes: () => null,
    store,
    compile: compileSimply,
    shares: () => ({ cacheBytes: 1 << 20, stageBytes: 1 << 20 }),
    clock,
    random: realRandom,
    log: silentLog,
    changed() {},
  });
  t.after(async () => {
    await indexes.stop();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return indexes;
}

test('a file that becomes damaged while another index is dropped is replaced, and no group uses the damaged file', async (t) => {
  const indexes = await startedIndexes(t);
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

test('large files are compared a page at a time, in turns', async (t) => {
  const clock = new ManualClock();
  /** The number of the file of each page. */
  const pages: number[] = [];
  let files = 0;
  const onOpen = (file: IndexFile) => {
    const number = files++;
    let left = 3;
    file.compareMore = () => {
      pages.push(number);
      return --left > 0;
    };
  };
  const indexes = await startedIndexes(t, { clock, onOpen });
  await indexes.setIndexes([aDefinition(['`a`']), aDefinition(['`b`'])]);
  const pagesOfTurns: number[] = [];
  while (pages.length < 6) {
    const before = pages.length;
    clock.advance(20);
    pagesOfTurns.push(pages.length - before);
  }
  assert.deepEqual(pages, [0, 1, 0, 1, 0, 1]);
  assert.deepEqual(pagesOfTurns, [1, 1, 1, 1, 1, 1]);
});

test('a large file is not built again because memory was short while it was compared', async (t) => {
  const clock = new ManualClock();
  const noMemory = Object.assign(new Error('out of memory'), { errcode: 7 });
  let files = 0;
  let pages = 0;
  const onOpen = (file: IndexFile) => {
    files++;
    file.compareMore = () => {
      if (++pages === 1) throw noMemory;
      return pages < 3;
    };
  };
  const indexes = await startedIndexes(t, { clock, onOpen });
  const definition = aDefinition(['`a`']);
  await indexes.setIndexes([definition]);
  for (let turn = 0; turn < 4; turn++) clock.advance(20);
  await indexes.setIndexes([definition]);
  assert.deepEqual({ files, pages }, { files: 1, pages: 3 });
});
