import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { programOf } from './check-ports.ts';
import { containerFreeBytes, freeBytesInGroup } from './check-system.ts';

test('divan doctor counts inactive pages of the file cache as free memory of a container', () => {
  const stat = 'anon 200\ninactive_file 600\nactive_file 100\n';
  assert.equal(freeBytesInGroup({ max: '1000\n', current: '950\n', stat }), 650);
  assert.equal(freeBytesInGroup({ max: '1000\n', current: '950\n', stat: '' }), 50);
  assert.equal(freeBytesInGroup({ max: 'max\n', current: '950\n', stat }), Number.POSITIVE_INFINITY);
  assert.equal(freeBytesInGroup({ max: '', current: '', stat: '' }), Number.POSITIVE_INFINITY);
});

test('divan doctor shows the least memory that the control group or one around it may still get', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'doctor-'));
  t.after(() => rmSync(root, { recursive: true }));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const limit = (group: string, max: string, current: number): void => {
    write(`sys/fs/cgroup${group}/memory.max`, `${max}\n`);
    write(`sys/fs/cgroup${group}/memory.current`, `${current}\n`);
  };
  assert.equal(containerFreeBytes(root), Number.POSITIVE_INFINITY);
  write('proc/self/cgroup', '0::/outer/inner\n');
  assert.equal(containerFreeBytes(root), Number.POSITIVE_INFINITY);
  limit('/outer/inner', 'max', 300);
  limit('/outer', '1000', 900);
  assert.equal(containerFreeBytes(root), 100);
  limit('/outer/inner', '350', 300);
  assert.equal(containerFreeBytes(root), 50);
  // A container that sees its own group as the root.
  limit('', '940', 900);
  assert.equal(containerFreeBytes(root), 40);
});

test('divan doctor names a process by its program and script, not by one of its threads', {
  skip: process.platform !== 'linux',
}, () => {
  assert.match(programOf(String(process.pid)), /^node\b[^/]*$/);
});
