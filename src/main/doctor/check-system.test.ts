import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programOf } from './check-ports.ts';
import { freeBytesInGroup } from './check-system.ts';

test('counts inactive pages of the file cache as free memory of a container', () => {
  const stat = 'anon 200\ninactive_file 600\nactive_file 100\n';
  assert.equal(freeBytesInGroup({ max: '1000\n', current: '950\n', stat }), 650);
  assert.equal(freeBytesInGroup({ max: '1000\n', current: '950\n', stat: '' }), 50);
  assert.equal(freeBytesInGroup({ max: 'max\n', current: '950\n', stat }), Number.POSITIVE_INFINITY);
  assert.equal(freeBytesInGroup({ max: '', current: '', stat: '' }), Number.POSITIVE_INFINITY);
});

test('names a process by its program and script, not by one of its threads', {
  skip: process.platform !== 'linux',
}, () => {
  assert.match(programOf(String(process.pid)), /^node\b[^/]*$/);
});
