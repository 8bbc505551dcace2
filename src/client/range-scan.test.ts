import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyBytesMax } from '#wire/collection-id.ts';
import { emptyFrame, Magic } from '#wire/frame.ts';
import { Status } from '#wire/status.ts';
import { DataPortError } from './data-port-error.ts';
import { RangeScanner } from './range-scan.ts';
import type { RequestSender } from './wire-connection.adapter.ts';

/** A data port that answers each page with this body. */
function aDataPort(body: Buffer): RequestSender {
  const frame = Object.assign(emptyFrame(), {
    buffer: body,
    magic: Magic.response,
    vb: Status.rangeScanComplete,
    valueStart: 0,
    end: body.length,
  });
  const created = { status: Status.success, value: Buffer.alloc(16) };
  const sender: Partial<RequestSender> = {
    request: async () => created as never,
    send: (_request, receive) => void receive(frame),
  };
  return sender as RequestSender;
}

const pageOf = (body: Buffer, keysOnly: boolean) =>
  new RangeScanner(aDataPort(body), { vb: 0, collectionId: 0, keysOnly, withXattrs: true }).next();

test('the keys of a page are read, and a page that ends within a length, a key or a document is rejected', async () => {
  const keys = Buffer.from('\u0001a\u0002bc');
  assert.deepEqual(
    (await pageOf(keys, true))?.map(({ key }) => key),
    ['a', 'bc'],
  );
  const endsInLength = Buffer.of(1, 97, 0x80);
  for (const body of [endsInLength, keys.subarray(0, 4)])
    await assert.rejects(pageOf(body, true), DataPortError);
  const document = Buffer.concat([Buffer.alloc(25), Buffer.from('\u0001a\u00011')]);
  assert.deepEqual(
    (await pageOf(document, false))?.map(({ value }) => value.toString()),
    ['1'],
  );
  for (let length = 1; length < document.length; length++)
    await assert.rejects(pageOf(document.subarray(0, length), false), DataPortError, `${length} bytes`);
});

test('a scan reaches from the least to the greatest key that there can be', async () => {
  const plans: { range: { start: string; end: string } }[] = [];
  const sender = {
    ...aDataPort(Buffer.alloc(0)),
    request: async ({ value }: { value: Buffer }) => {
      plans.push(JSON.parse(value.toString()));
      return { status: Status.keyNotFound, value: Buffer.alloc(0) };
    },
  } as unknown as RequestSender;
  const scan = { vb: 0, collectionId: 0, keysOnly: true, withXattrs: false };
  assert.equal(await new RangeScanner(sender, scan).next(), null);
  const [start = '', end = ''] = plans.flatMap(({ range }) => [range.start, range.end]);
  assert.ok(Buffer.compare(Buffer.from(start, 'base64'), Buffer.of(0)) <= 0);
  // Keys need not be UTF-8.
  assert.ok(Buffer.compare(Buffer.from(end, 'base64'), Buffer.alloc(keyBytesMax.inDefault, 0xff)) >= 0);
});
