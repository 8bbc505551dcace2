import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../options.ts';
import { followLog, type LogEntry, metricsVerbs, sampleNumber } from './observe-verbs.ts';
import type { Verb } from './verb.ts';

test('infinite samples and those that are no number keep their text, also as JSON', () => {
  const read = ['+Inf', '-Inf', 'NaN', '1e+21', '0.5'].map(sampleNumber);
  assert.equal(JSON.stringify(read), '["+Inf","-Inf","NaN",1e+21,0.5]');
});

const entryAt = (tstamp: number, text: string): LogEntry => ({
  tstamp,
  serverTime: '',
  node: 'n',
  type: 'info',
  module: 'm',
  text,
});

/** A log, in which each pause adds the next entries, and what `followLog` writes until there are no further ones. */
async function followed(log: LogEntry[], lines: number, added: readonly LogEntry[][]): Promise<string[]> {
  const written: string[] = [];
  const waiting = [...added];
  const get = async (path: string) => {
    const sinceMs = Number(new URLSearchParams(path.split('?')[1]).get('sinceTime'));
    const list = log.filter(({ tstamp }) => tstamp >= sinceMs).sort((a, b) => a.tstamp - b.tstamp);
    return { list };
  };
  const sleep = async () => {
    const next = waiting.shift();
    if (next === undefined) throw new Error('stopped');
    log.push(...next);
  };
  const write = (line: string) => void written.push(line);
  const context = { signal: new AbortController().signal, clock: { sleep }, write };
  await assert.rejects(
    followLog({ get }, log.slice(-lines), ({ text }) => text, context),
    /stopped/,
  );
  return written;
}

test('divan logs --follow shows each entry once, also those of a node whose clock is behind', async () => {
  const log = [entryAt(99_000, 'before'), entryAt(99_500, 'first')];
  const behind = entryAt(96_000, 'of a node that is behind');
  const written = await followed(log, 1, [
    [entryAt(100_000, 'second')],
    [behind],
    [entryAt(130_000, 'third')],
    [],
  ]);
  assert.deepEqual(written, ['first', 'second', 'of a node that is behind', 'third']);
  assert.deepEqual(await followed([], 1, [[], [entryAt(1_000, 'only')], []]), ['only']);
});

test('divan metrics refuses functions without the time that they need', async () => {
  const [verb] = metricsVerbs as readonly Verb[];
  await assert.rejects(
    async () => verb?.run({ url: '', functions: 'rate' } as never, ['kv_ops']),
    (error) => error instanceof UsageError && /^--functions: .* give --since TIME/.test(error.message),
  );
});
