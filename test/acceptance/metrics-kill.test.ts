// `kill -9` during ingest, at many moments: synced samples remain, blocks open, and older data is intact.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { FolderStoreFiles } from '#metrics/store/files.adapter.ts';
import { fineBounds } from '#metrics/store/store.ts';
import { Tier } from '#metrics/store/tier.ts';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const startMs = 1_700_006_400_000;
const program = new URL('../support/metrics-ingest.ts', import.meta.url).pathname;

/** Kills after this number of reported moments; returns how many were reported. */
async function killAfter(folder: string, moments: number): Promise<number> {
  const child = spawn(process.execPath, [program, folder, String(startMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let told = '';
  for await (const piece of child.stdout) {
    told += piece;
    if (told.split('\n').length - 1 >= moments && !child.killed) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return told.split('\n').length - 1;
}

test('has every synced moment after kill -9', async (t) => {
  for (const moments of [1, 37, 719, 721, 1500]) {
    const folder = mkdtempSync(join(tmpdir(), 'divan-ingest-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const told = await killAfter(folder, moments);
    const clock = new ManualClock(startMs + told * 10_000);
    const tier = new Tier({ files: new FolderStoreFiles(folder), clock, log: silentLog, bounds: fineBounds });
    await tier.open();
    const { series, problems } = await tier.select([], 0, startMs * 2);
    assert.deepEqual(problems, []);
    assert.equal(series.length, 20);
    for (const { labels, timesMs, values } of series) {
      assert.ok(timesMs.length >= told, `${timesMs.length} of ${told}, killed after ${moments}`);
      const wrong = values.findIndex((value, step) => value !== step * Number(labels['at']));
      assert.equal(wrong, -1, `moment ${wrong}`);
    }
    await tier.close();
    t.diagnostic(`killed after ${told} moments: ${readdirSync(folder).length} files`);
  }
});
