import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deliveryOf, headerIn } from './feed-messages.ts';

test('the position of a message is read from both forms of the reply subject', () => {
  const position = { revision: 7, consumerSeq: 3, pending: 2 };
  assert.deepEqual(deliveryOf('$JS.ACK.KV_b.consumer.1.7.3.1700.2'), position);
  assert.deepEqual(deliveryOf('$JS.ACK.domain.account.KV_b.consumer.1.7.3.1700.2.token'), position);
  for (const other of ['', '_INBOX.1', '$JS.ACK.KV_b.c.1.x.3.1700.2']) assert.equal(deliveryOf(other), null);
});

test('a header is found in upper and lower case', () => {
  const headers = 'NATS/1.0\r\nKV-Operation: DEL\r\ndivan-writes: a b\r\n\r\n';
  assert.equal(headerIn(headers, 'kv-operation'), 'DEL');
  assert.equal(headerIn(headers, 'Divan-Writes'), 'a b');
  assert.equal(headerIn(headers, 'other'), null);
});
