import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { aCloud } from '../../../test/support/a-cloud.ts';
import { applyConfig } from './cloud-config.ts';
import type { CloudStorage } from './cloud-storage.ts';

test('several servers of one database apply the same file at the same time', async (t) => {
  const { cloud, store, secrets, get } = await aCloud();
  t.after(() => cloud.stop());
  const folder = mkdtempSync(join(tmpdir(), 'divan-config-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'cloud.json');
  const token = 'a'.repeat(32);
  const config = {
    clouds: [{ name: 'one', provider: 'aws', region: 'us-east-1', cidr: '10.0.0.0/16' }],
    users: [{ name: 'A', email: 'a@example.com' }],
    tokens: [{ role: 'reader', token }],
  };
  writeFileSync(path, JSON.stringify(config));
  const storage = { store, secrets } as CloudStorage;
  await Promise.all([applyConfig(path, storage), applyConfig(path, storage)]);
  const totalOf = async (url: string) => (await get(url, { token })).body.cursor.pages.totalItems as number;
  assert.deepEqual([await totalOf('/v2/clouds'), await totalOf('/v2/users')], [2, 2]);
});
