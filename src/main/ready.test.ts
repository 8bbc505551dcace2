import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { writeReadyFile } from './ready.ts';

const cloud = { api: 'http://127.0.0.1:8080', token: 't', accessKey: 'a', secretKey: 's' };

it('writes secrets into a new file, never through a link that another user created', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-ready-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [path, victim] = [join(folder, 'ready.json'), join(folder, 'victim')];
  writeFileSync(victim, 'mine', { mode: 0o644 });
  symlinkSync(victim, `${path}.${process.pid}.tmp`);
  symlinkSync(victim, path);
  writeReadyFile(path, { cloud });
  assert.equal(readFileSync(victim, 'utf8'), 'mine');
  assert.equal(statSync(victim).mode & 0o777, 0o644);
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), { pid: process.pid, cloud });
  assert.equal(statSync(path).mode & 0o777, 0o600);
});
