// Documents that this thread reads while another one changes them all the time.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { processMs, realClock } from '#ports/clock.ts';
import type { DataMessage } from '#wire/document-batch.ts';
import {
  type Changes,
  changedCollection,
  nameOf,
  startChanges,
  valueAt,
  vbOf,
} from '../../../test/support/changing-bucket.ts';
import { printedSeed } from '../../../test/support/seed.ts';
import { SharedDocuments } from './shared-documents.ts';

const { bucket, collection, documents } = changedCollection;
const reads = 5_000;
const versionsMin = 200;

function readerAt(port: MessagePort): SharedDocuments {
  const clock = { wallMs: realClock.wallMs, processMs, after: realClock.after };
  const send = (request: object): void => port.postMessage(request);
  const reader = new SharedDocuments({ send, clock, collectGarbage: () => {} });
  port.on('message', (message: DataMessage) => {
    if ('kind' in message) reader.receive(message);
  });
  return reader;
}

/** The key as a request has it. */
function requestOf(at: number): Buffer {
  const key = Buffer.from(`\x08${nameOf(at)}`, 'latin1');
  const head = Buffer.from([0, vbOf(at), 0, key.length]);
  return Buffer.concat([head, key]);
}

const shared = (count: number): Int32Array => new Int32Array(new SharedArrayBuffer(4 * count));

test('documents that another thread changes are read whole, and never older than an acknowledged write', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const seed = printedSeed(t);
  const changes: Changes = { port: port1, written: shared(documents), isEnded: shared(1), seed };
  const ended = once(startChanges(changes), 'exit');
  const reader = readerAt(port2);
  const versions = new Set<number>();
  let isAsking = false;
  port2.on('message', (message: DataMessage) => {
    if (!('kind' in message)) isAsking = false;
  });
  try {
    const requests = Array.from({ length: documents }, (_, at) => requestOf(at));
    for (let found = 0; found < reads || versions.size < versionsMin; ) {
      await new Promise((resolve) => setImmediate(resolve));
      for (const [at, request] of requests.entries()) {
        const acknowledged = Atomics.load(changes.written, at);
        let isFound = false;
        reader.read(bucket, collection, request, request.length, ({ bytes, start, end, flags: version }) => {
          isFound = true;
          versions.add(version);
          assert.ok(version >= acknowledged, `version ${version} after ${acknowledged}`);
          assert.ok(bytes.subarray(start, end).equals(valueAt(at, version)), `parts of version ${version}`);
        });
        if (isFound) found++;
        else {
          // A caller then asks the data thread, which releases its lock for readers from then on. The answer itself does not matter here.
          if (!isAsking) port2.postMessage({ kind: 'keys', id: at, bucket, collection, keys: request });
          isAsking = true;
        }
      }
    }
  } finally {
    Atomics.store(changes.isEnded, 0, 1);
    await ended;
    port2.close();
  }
  t.diagnostic(`${versions.size} versions`);
});

test('a bucket whose memory is refused or awaited does not delay requests for that of another', () => {
  const requested: string[] = [];
  const reader = new SharedDocuments({
    send: (request) => requested.push(request.bucket),
    clock: { wallMs: realClock.wallMs, processMs, after: realClock.after },
    collectGarbage: () => {},
  });
  const read = (name: string): unknown => {
    const request = requestOf(0);
    return reader.read(name, collection, request, request.length, () => {});
  };
  for (const name of ['awaited', 'awaited', 'refused']) read(name);
  reader.receive({ kind: 'memory', bucket: 'refused', collection, grant: null });
  for (const name of ['refused', 'other']) read(name);
  assert.deepEqual(requested, ['awaited', 'refused', 'other']);
  for (let at = 0; at < 250; at++) read('refused');
  assert.deepEqual(
    requested.slice(3),
    ['refused'],
    'the refused memory was not requested again after some reads',
  );
});
