// Acknowledged changes are synced: each commit of a data file, of the configuration and of the cloud's database syncs its log.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { needs } from '../support/needs.ts';

const commits = 5;
const support = (name: string): string => new URL(`../support/${name}`, import.meta.url).pathname;

test('every store syncs each commit before it acknowledges it', { skip: needs('compiler') }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-syncs-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const library = join(folder, 'counting-sync.so');
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, support('counting-sync.c'), '-ldl']);
  const log = join(folder, 'syncs');
  execFileSync(process.execPath, [support('syncing.ts'), folder], {
    env: { ...process.env, LD_PRELOAD: library, DIVAN_COUNT_SYNCS: log },
  });
  // Durable writes (`urgent`) are first appended to a log of cuts, the file that ends in `-cuts`; all other commits sync the WAL of SQLite.
  const counts: Record<string, number> = { data: 0, urgent: 0, config: 0, cloud: 0 };
  let store = 'none';
  for (const line of readFileSync(log, 'utf8').split('\n')) {
    if (line.startsWith('begin ')) store = line.slice(6);
    else if (line.endsWith(store === 'urgent' ? '-cuts' : '-wal')) counts[store] = (counts[store] ?? 0) + 1;
  }
  for (const name of ['data', 'urgent', 'config', 'cloud'])
    assert.ok((counts[name] as number) >= commits, `${name}: ${counts[name]} syncs for ${commits} commits`);
});
