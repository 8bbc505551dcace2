// kill -9 during ingest, after different numbers of samples: all synced samples can be read.
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
/** As in metrics-ingest.ts. */
const [stepMs, seriesCount] = [10_000, 20];
const program = new URL('../support/metrics-ingest.ts', import.meta.url).pathname;

/** Kills the process after it has reported this many synced samples of each series; returns how many it reported. */
async function killAfter(folder: string, samples: number): Promise<number> {
  const child = spawn(process.execPath, [program, folder, String(startMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  for await (const chunk of child.stdout) {
    printed += chunk;
    if (printed.split('\n').length - 1 >= samples && !child.killed) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return printed.split('\n').length - 1;
}

test('the metrics store has every synced sample after kill -9', async (t) => {
  // A file has the samples of two hours: 720 of each series.
  for (const samples of [1, 37, 719, 721, 1500]) {
    const folder = mkdtempSync(join(tmpdir(), 'divan-ingest-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const printed = await killAfter(folder, samples);
    const clock = new ManualClock(startMs + printed * stepMs);
    const tier = new Tier({ files: new FolderStoreFiles(folder), clock, log: silentLog, bounds: fineBounds });
    await tier.open();
    const { series, problems } = await tier.select([], 0, startMs * 2);
    assert.deepEqual(problems, []);
    assert.equal(series.length, seriesCount);
    for (const { labels, timesMs, values } of series) {
      assert.ok(timesMs.length >= printed, `${timesMs.length} of ${printed}, killed after ${samples}`);
      const wrong = values.findIndex((value, step) => value !== step * Number(labels['index']));
      assert.equal(wrong, -1, `sample ${wrong}`);
    }
    await tier.close();
    t.diagnostic(`killed after ${printed} samples: ${readdirSync(folder).length} files`);
  }
});
