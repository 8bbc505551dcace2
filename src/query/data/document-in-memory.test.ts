import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MemoryDocument } from '#wire/document-batch.ts';
import { snappyCompress } from '#wire/snappy.ts';
import { Datatype } from '#wire/status.ts';
import { DocumentInMemory } from './document-in-memory.ts';

const memory = Buffer.alloc(600_000);

/** Copies a document into `memory`, over the previous one. */
function placeInMemory(value: Uint8Array, datatype: number): MemoryDocument {
  memory.fill('x').set(value, 10);
  const end = 10 + value.length;
  return {
    bytes: memory,
    start: 10,
    end,
    datatype,
    flags: 7,
    expiry: 9,
    casHi: 0x80000001,
    casLo: 0xffffffff,
  };
}

const textAt = ({ place: { buffer, start, end } }: DocumentInMemory): string =>
  Buffer.from(buffer.subarray(start, end)).toString();

test('a document in memory has its metadata, and bytes that outlast the next document', () => {
  const document = new DocumentInMemory();
  document.set('a', placeInMemory(Buffer.from('{"a":1}'), Datatype.json));
  const { bytes, cas, expiration, flags, isJson } = document;
  assert.deepEqual(
    { cas, expiration, flags, isJson },
    { cas: 0x80000001ffffffffn, expiration: 9, flags: 7, isJson: true },
  );
  assert.equal(textAt(document), '{"a":1}');
  document.set('b', placeInMemory(Buffer.from('binary'), 0));
  assert.deepEqual([document.id, document.isJson, textAt(document)], ['b', false, 'binary']);
  assert.equal(Buffer.from(bytes).toString(), '{"a":1}');
});

test('large and compressed values are not in the memory into which the next document is copied', () => {
  const document = new DocumentInMemory();
  const large = Buffer.from(`{"a":"${'long '.repeat(60_000)}"}`);
  document.set('large', placeInMemory(large, Datatype.json));
  const { buffer } = document.place;
  document.set(
    'compressed',
    placeInMemory(snappyCompress(large, 0, large.length), Datatype.json | Datatype.snappy),
  );
  assert.equal(Buffer.from(buffer).toString(), large.toString());
  assert.notEqual(document.place.buffer, memory);
  assert.equal(textAt(document), large.toString());
});
