import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { jsonLog } from './log.adapter.ts';
import { NodeLogFile } from './log-file.adapter.ts';

function aFolder(t: { after(end: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'divan-log-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'logs');
}

test('the log file writer bounds the log: renames older files, and overwrites the oldest', (t) => {
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

test('a new file is begun after an operator has deleted the file, or its folder', (t) => {
  const folder = aFolder(t);
  const file = new NodeLogFile(folder);
  for (const deleted of [join(folder, 'node.log'), folder]) {
    file.write('before\n');
    rmSync(deleted, { recursive: true });
    file.write('after\n');
    assert.equal(readFileSync(join(folder, 'node.log'), 'utf8'), 'after\n', deleted);
  }
});

test('the log file gets lines from info up, also of child logs, when the log level is error', (t) => {
  const folder = aFolder(t);
  const log = jsonLog('error', new NodeLogFile(folder));
  log.debug('not.this');
  log.child('kv').info('bucket.compaction.done', { bucket: 'b' });
  const lines = readFileSync(join(folder, 'node.log'), 'utf8').trim().split('\n');
  assert.equal(lines.length, 1);
  const { msg, component, bucket } = JSON.parse(lines[0] as string);
  assert.deepEqual([msg, component, bucket], ['bucket.compaction.done', 'kv', 'b']);
});

test('level silent writes no log file', (t) => {
  const folder = aFolder(t);
  jsonLog('silent', new NodeLogFile(folder)).error('not.this');
  assert.throws(() => readdirSync(folder), { code: 'ENOENT' });
});

test('a line is JSON with the level, the time, the component and the fields, also when a field cannot be written', () => {
  const lines: string[] = [];
  const log = jsonLog('error', { write: (line) => void lines.push(line) }).child('kv');
  log.warn('disk.slow', { path: 'a\nb', gone: undefined });
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  log.info('odd', { circle });
  assert.ok(lines.every((line) => line.endsWith('\n') && line.indexOf('\n') === line.length - 1));
  const [first, second] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const { time, ...rest } = first as { time: string };
  assert.deepEqual(rest, { level: 40, component: 'kv', path: 'a\nb', msg: 'disk.slow' });
  assert.equal(new Date(time).toISOString(), time);
  assert.deepEqual([second?.['level'], second?.['msg']], [30, 'odd']);
  assert.match(String(second?.['fields']), /^not written: .*circular/i);
});

test('a pipe to standard error that nobody reads loses lines, and does not stop the process', async (t) => {
  const script = `
    import { Socket } from 'node:net';
    new Socket({ fd: 2 }).unref(); // the pipe refuses what does not fit, and does not wait
    const { jsonLog } = await import(${JSON.stringify(new URL('./log.adapter.ts', import.meta.url).href)});
    jsonLog('info').info('line', { text: 'x'.repeat(4_000_000) });
    process.stdout.write('done');
    process.exit();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  assert.equal(await text(child.stdout), 'done');
});
