import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forwardingLog } from '#ports/log.ts';
import { leveledLog } from './leveled-log.ts';

test('a replication logs the lines of its level and those above', () => {
  const levels = { Fatal: 1, Error: 1, Warn: 2, Info: 3, Debug: 4, Trace: 4 } as const;
  for (const [level, count] of Object.entries(levels)) {
    const lines: string[] = [];
    const all = forwardingLog('xdcr', (message) => lines.push(message.level));
    const log = leveledLog(all, level as keyof typeof levels);
    for (const one of [log, log.child('part')])
      for (const name of ['error', 'warn', 'info', 'debug'] as const) one[name]('event');
    const expected = ['error', 'warn', 'info', 'debug'].slice(0, count);
    assert.deepEqual(lines, [...expected, ...expected], level);
  }
});
