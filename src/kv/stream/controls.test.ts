import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultControls, setControl } from './controls.ts';

test('known options with valid values are accepted', () => {
  const controls = defaultControls();
  const valid = [
    'enable_noop=true',
    'set_noop_interval=1',
    'connection_buffer_size=4294967295',
    'set_priority=high',
  ];
  const more = ['max_marker_version=2.2', 'enable_stream_id=true', 'backfill_order=sequential'];
  for (const text of [...valid, ...more]) {
    const [name = '', value = ''] = text.split('=');
    assert.equal(setControl(controls, name, value), true, text);
  }
  assert.deepEqual([controls.noop, controls.noopIntervalMs, controls.bufferBytes], [true, 1000, 2 ** 32 - 1]);
  assert.deepEqual([controls.markerVersion, controls.streamIds], [2.2, true]);
});

test('other options and values are refused', () => {
  const invalid = ['enable_noop=yes', 'enable_noop=TRUE', 'set_noop_interval=0', 'set_noop_interval=10801'];
  const more = [
    'connection_buffer_size=4294967296',
    'connection_buffer_size=-1',
    'connection_buffer_size=1e3',
  ];
  const names = ['no_such_option=true', '__proto__=true', 'set_priority=urgent', 'max_marker_version=3.0'];
  for (const text of [...invalid, ...more, ...names]) {
    const [name = '', value = ''] = text.split('=');
    assert.equal(setControl(defaultControls(), name, value), false, text);
  }
});
