import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { FolderStoreFiles } from './files.adapter.ts';
import type { LogFile } from './files.ts';
import { Tier } from './tier.ts';

const spanMs = 7_200_000;
const startMs = 1_700_006_400_000;

/** A folder that accepts logs and no blocks, and counts the open logs. */
class CountedLogs extends FolderStoreFiles {
  openLogs = 0;

  override write(): Promise<void> {
    return Promise.reject(new Error('no space left'));
  }

  override async openLog(name: string, bytes: number): Promise<LogFile> {
    const file = await super.openLog(name, bytes);
    this.openLogs++;
    return {
      append: (added) => file.append(added),
      close: () => file.close().then(() => void this.openLogs--),
    };
  }
}

test('a tier closes the logs of past spans whose blocks were never written', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-tier-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const files = new CountedLogs(folder);
  const retention = { ageMs: 24 * spanMs, bytes: 1e9 };
  const bounds = { spanMs, retention, seriesMax: 100, samplesMax: 1e6 };
  const tier = new Tier({ files, clock: new ManualClock(startMs), log: silentLog, bounds });
  await tier.open();
  for (let span = 0; span < 5; span++) {
    tier.append(startMs + span * spanMs, [{ name: 'ops', labels: {}, value: span }]);
    await tier.written();
  }
  assert.equal(files.openLogs, 3, 'those of two past spans and of the present one');
  await tier.close();
  assert.equal(files.openLogs, 0);
});

/** A folder that always refuses blocks, and log records while `isFull` is set. */
class FolderOnFullDisk extends FolderStoreFiles {
  isFull = false;

  override write(): Promise<void> {
    return Promise.reject(new Error('no space left'));
  }

  override async openLog(name: string, bytes: number): Promise<LogFile> {
    const file = await super.openLog(name, bytes);
    return {
      append: (added) => (this.isFull ? Promise.reject(new Error('no space left')) : file.append(added)),
      close: () => file.close(),
    };
  }
}

for (const spanEnds of [false, true])
  test(`a closing tier writes the records that the full disk refused before${spanEnds ? ', of a past span too' : ''}`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'divan-tier-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const files = new FolderOnFullDisk(folder);
    const retention = { ageMs: 24 * spanMs, bytes: 1e9 };
    const bounds = { spanMs, retention, seriesMax: 100, samplesMax: 1e6 };
    const newTier = () => new Tier({ files, clock: new ManualClock(startMs), log: silentLog, bounds });
    const tier = newTier();
    await tier.open();
    const values = [1, 2, 3];
    for (const [index, value] of values.entries()) {
      files.isFull = index > 0;
      const timeMs = startMs + (spanEnds && index === 2 ? spanMs : index * 10_000);
      tier.append(timeMs, [{ name: 'ops', labels: {}, value }]);
      await tier.written();
    }
    files.isFull = false;
    await tier.close();
    const later = newTier();
    await later.open();
    const { series } = await later.select([], startMs, startMs + 2 * spanMs);
    await later.close();
    assert.deepEqual([...(series[0]?.values ?? [])], values);
  });

/** A folder with logs that cannot be read, as those in damaged parts of a disk. */
class FolderWithUnreadableLogs extends FolderStoreFiles {
  unreadable = '';

  override readAll(name: string): Promise<Buffer> {
    return name === this.unreadable ? Promise.reject(new Error('EIO: i/o error, read')) : super.readAll(name);
  }
}

test('a tier whose log cannot be read reports that, records on, and has the samples of the log once it can be read', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-tier-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const files = new FolderWithUnreadableLogs(folder);
  const retention = { ageMs: 24 * spanMs, bytes: 1e9 };
  const bounds = { spanMs, retention, seriesMax: 100, samplesMax: 1e6 };
  const opened = async (): Promise<Tier> => {
    const tier = new Tier({ files, clock: new ManualClock(startMs + 20_000), log: silentLog, bounds });
    await tier.open();
    return tier;
  };
  const append = (tier: Tier, step: number): void =>
    tier.append(startMs + step * 10_000, [{ name: 'ops', labels: {}, value: step }]);
  const valuesIn = async (tier: Tier) => {
    const { series, problems } = await tier.select([], startMs, startMs + spanMs);
    return [[...(series[0]?.values ?? [])], problems];
  };
  const before = await opened();
  append(before, 1);
  await before.close();
  files.unreadable = `${startMs}.log`;
  const meanwhile = await opened();
  append(meanwhile, 2);
  const problem = `metrics file ${startMs}.log: EIO: i/o error, read`;
  assert.deepEqual(await valuesIn(meanwhile), [[2], [problem]]);
  await meanwhile.close();
  files.unreadable = '';
  const later = await opened();
  append(later, 3);
  assert.deepEqual(await valuesIn(later), [[1, 2, 3], []]);
  await later.close();
});
