import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { NodeBundles, type WantedBundle } from './node-bundles.ts';

const wanted: WantedBundle = {
  id: 'x',
  startedMs: 0,
  logDir: null,
  redaction: 'none',
  salt: '',
  auditLog: false,
};

/** The bundles of one node and of another, whose manager answers its questions. */
function twoNodes(write: (wanted: WantedBundle, signal: AbortSignal) => Promise<string>) {
  const answers = new Map<string, (body: never) => unknown>([['ping', () => ({})]]);
  const ask = async (_node: string, name: string, body: unknown) => answers.get(name)?.(body as never);
  const answer = (name: string, answering: (body: never) => unknown) => void answers.set(name, answering);
  new NodeBundles({ ask: ask as never, answer: answer as never }, write);
  return new NodeBundles({ ask: ask as never, answer: () => {} }, () =>
    assert.fail('the asking node wrote the bundle of the other node'),
  );
}

test('another node writes its bundle, and says why it cannot', async () => {
  const { signal } = new AbortController();
  const written = twoNodes(async () => '/data/tmp/x.zip').collect('b', wanted, signal);
  assert.equal(await written, '/data/tmp/x.zip');
  const failed = twoNodes(() => Promise.reject(new Error('ENOSPC'))).collect('b', wanted, signal);
  await assert.rejects(failed, /ENOSPC/);
});

test('a cancelled bundle of another node is cancelled on that node', async () => {
  let writing: AbortSignal | null = null;
  const bundles = twoNodes((_, signal) => {
    writing = signal;
    return new Promise(() => {});
  });
  const cancel = new AbortController();
  const collecting = bundles.collect('b', wanted, cancel.signal);
  await setImmediate();
  cancel.abort(new Error('cancelled'));
  await assert.rejects(collecting, /cancelled/);
  assert.equal((writing as AbortSignal | null)?.aborted, true);
});
