import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pinoLog } from './log.adapter.ts';
import { NodeLogFile } from './log-file.adapter.ts';

function aFolder(t: { after(end: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'divan-log-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'logs');
}

test('bounds the log: renames older files, and overwrites the oldest', (t) => {
  const folder = aFolder(t);
  const file = new NodeLogFile(folder, { bytes: 20, older: 2 });
  for (let line = 1; line <= 9; line++) file.write(`line number ${line}\n`);
  assert.deepEqual(readdirSync(folder).sort(), ['node.1.log', 'node.2.log', 'node.log']);
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  assert.deepEqual(['node.log', 'node.1.log', 'node.2.log'].map(read), [
    'line number 9\n',
    'line number 8\n',
    'line number 7\n',
  ]);
  assert.equal(statSync(join(folder, 'node.log')).mode & 0o077, 0);
  new NodeLogFile(folder, { bytes: 20, older: 2 }).write('10\n');
  assert.equal(read('node.log'), 'line number 9\n10\n');
});

test('the log file gets lines from info up, also of child logs, while standard error gets only errors', (t) => {
  const folder = aFolder(t);
  const log = pinoLog('error', new NodeLogFile(folder));
  log.debug('not.this');
  log.child('kv').info('bucket.compaction.done', { bucket: 'b' });
  const lines = readFileSync(join(folder, 'node.log'), 'utf8').trim().split('\n');
  assert.equal(lines.length, 1);
  const { msg, component, bucket } = JSON.parse(lines[0] as string);
  assert.deepEqual([msg, component, bucket], ['bucket.compaction.done', 'kv', 'b']);
});

test('level silent writes no log file', (t) => {
  const folder = aFolder(t);
  pinoLog('silent', new NodeLogFile(folder)).error('not.this');
  assert.throws(() => readdirSync(folder), { code: 'ENOENT' });
});
