// Large values are sent and processed from the memory where they are: a copy of 20 MB takes longer than a turn may.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeRequest, type RequestParts } from '#wire/output.ts';
import { SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { aBareConnection, type BareConnection } from '../../../test/support/bare-connection.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { ownMemoryBytes } from '../data/documents.ts';
import type { MutationOutcome } from '../subdoc/execute.ts';

const key = Buffer.from('\0k');
const get = { opcode: Opcode.get, key };
const json = (digit: string, bytes: number): Buffer => Buffer.from(`[${digit.repeat(bytes - 2)}]`);

function send({ connection }: BareConnection, ...requests: RequestParts[]): void {
  const bytes = Buffer.concat(requests.map(encodeRequest));
  connection.received(bytes, 0, bytes.length);
}

const store = (bare: BareConnection, value: Buffer): Promise<void> =>
  change(bare, { opcode: Opcode.set, key, extras: Buffer.alloc(8), value });

async function change(bare: BareConnection, request: RequestParts): Promise<void> {
  const before = bare.sent.length;
  send(bare, request);
  await eventually(() => {
    for (const connection of bare.woken.splice(0)) connection.resume();
    assert.equal(bare.sent.length, before + 1);
  });
  assert.equal(bare.sent[before]?.readUInt16BE(6), 0);
}

const isShared = ({ buffer }: Buffer): boolean => buffer instanceof SharedArrayBuffer;
const wholeOf = (parts: Buffer[]): Buffer => Buffer.concat(parts);

test('a large document is sent from its own memory, in order with the replies around it', async () => {
  await using bare = await aBareConnection({ keepsSent: true });
  const value = json('7', ownMemoryBytes);
  await store(bare, value);
  const from = bare.sent.length;
  send(
    bare,
    { opcode: Opcode.noop, opaque: 1 },
    { ...get, opaque: 2 },
    { ...get, opaque: 3 },
    { opcode: Opcode.noop, opaque: 4 },
  );
  const parts = bare.sent.slice(from);
  const sharedParts = parts.filter(isShared);
  assert.deepEqual(
    sharedParts.map(({ length }) => length),
    [value.length, value.length],
  );
  const replyBytes = wholeOf(parts);
  let at = 0;
  for (const opaque of [1, 2, 3, 4]) {
    assert.equal(replyBytes.readUInt32BE(at + 12), opaque);
    const end = at + 24 + replyBytes.readUInt32BE(at + 8);
    if (opaque === 2 || opaque === 3) assert.ok(replyBytes.subarray(end - value.length, end).equals(value));
    at = end;
  }
  assert.equal(at, replyBytes.length);
});

test('the bytes of a document that is being sent do not change when the document is overwritten, also by one of the same size, or deleted', async () => {
  await using bare = await aBareConnection({ keepsSent: true });
  const first = json('1', ownMemoryBytes);
  await store(bare, first);
  send(bare, get);
  const sharedPart = bare.sent.find(isShared) as Buffer;
  await store(bare, json('2', ownMemoryBytes));
  assert.ok(sharedPart.equals(first));
  send(bare, { opcode: Opcode.delete, key });
  await store(bare, json('3', ownMemoryBytes));
  assert.ok(sharedPart.equals(first));
});

test('a smaller document is copied: its memory is used again', async () => {
  await using bare = await aBareConnection({ keepsSent: true });
  await store(bare, json('1', ownMemoryBytes - 1024));
  send(bare, get);
  assert.equal(bare.sent.filter(isShared).length, 0);
});

test('heavy work reads a large document in the memory of the bucket, and a long result is sent from its own memory', async () => {
  await using bare = await aBareConnection({ keepsSent: true });
  const value = json('5', ownMemoryBytes);
  await store(bare, value);
  send(bare, get);
  const sharedPart = bare.sent.find(isShared) as Buffer;
  bare.sent.length = 0;
  const wholeDocument = Buffer.from([SubdocOpcode.getDoc, 0, 0, 0]);
  send(bare, {
    opcode: Opcode.subdocMultiLookup,
    key,
    value: Buffer.concat([wholeDocument, Buffer.from([SubdocOpcode.getCount, 0, 0, 0]), wholeDocument]),
  });
  await eventually(() => {
    for (const connection of bare.woken.splice(0)) connection.resume();
    assert.ok(bare.sent.length > 0);
  });
  const job = bare.jobs.at(-1)?.job;
  assert.ok(job?.kind === 'lookup');
  assert.equal(job.document.value.buffer, sharedPart.buffer);
  assert.deepEqual(
    bare.sent.filter(isShared).map(({ buffer }) => buffer === sharedPart.buffer),
    [true, true],
  );
  const replyBytes = wholeOf(bare.sent);
  assert.equal(replyBytes.length, 24 + replyBytes.readUInt32BE(8));
  const headBytes = 6;
  const countBytes = '1'.length;
  let at = replyBytes.length - 2 * (headBytes + value.length) - headBytes - countBytes;
  assert.equal(replyBytes.readUInt32BE(at + 2), value.length);
  assert.ok(replyBytes.subarray(at + headBytes, at + headBytes + value.length).equals(value));
  at += headBytes + value.length;
  assert.equal(replyBytes.toString('latin1', at + headBytes, at + headBytes + countBytes), '1');
  at += headBytes + countBytes;
  assert.ok(replyBytes.subarray(at + headBytes).equals(value));
});

/** The value of the last heavy work that the document could take over. */
const resultOf = ({ jobs }: BareConnection): Buffer => {
  const result = jobs.at(-1)?.result;
  return (result && 'stored' in result ? result.stored : (result as MutationOutcome).value) as Buffer;
};

/** Reads the document and returns the memory that it was sent from. */
function read(bare: BareConnection): Buffer {
  bare.sent.length = 0;
  send(bare, get);
  return bare.sent.find(isShared) as Buffer;
}

test('the memory of a large frame stays reserved while its heavy work is done again for a changed document', async () => {
  await using bare = await aBareConnection({ keepsSent: true });
  const { connection, input, jobs, sent, woken } = bare;
  await store(bare, json('5', ownMemoryBytes));
  const append = encodeRequest({ opcode: Opcode.append, key, value: Buffer.alloc(ownMemoryBytes, ' ') });
  connection.received(append, 0, 100);
  connection.received(append, 100, append.length);
  await eventually(() => assert.equal(jobs.length, 2));
  send(bare, { opcode: Opcode.touch, key, extras: Buffer.alloc(4) });
  sent.length = 0;
  await eventually(() => assert.equal(woken.length, 1));
  woken.pop()?.resume();
  assert.deepEqual([sent.length, input.bytes], [0, append.length]);
  await eventually(() => assert.equal(woken.length, 1));
  woken.pop()?.resume();
  assert.deepEqual([sent.length, jobs.length, input.bytes], [1, 3, 0]);
});

test('a large document is stored in the memory that heavy work made, whichever command changed it', async () => {
  await using bare = await aBareConnection({ keepsSent: true });
  const value = Buffer.from(`[1,${'4'.repeat(ownMemoryBytes)}]`);
  await store(bare, value);
  const stored = read(bare);
  assert.equal(stored.buffer, resultOf(bare).buffer);
  assert.ok(stored.equals(value));

  await change(bare, { opcode: Opcode.append, key, value: Buffer.from(' ') });
  const appended = read(bare);
  const job = bare.jobs.at(-1)?.job;
  assert.equal(job?.kind === 'validate' && job.parts[0]?.buffer, stored.buffer);
  assert.equal(appended.buffer, resultOf(bare).buffer);
  assert.ok(appended.equals(Buffer.concat([value, Buffer.from(' ')])));

  const replaceFirst = Buffer.from([SubdocOpcode.replace, 0, 0, 3, 0, 0, 0, 1, ...Buffer.from('[0]7')]);
  await change(bare, { opcode: Opcode.subdocMultiMutation, key, value: replaceFirst });
  const edited = read(bare);
  assert.equal(edited.buffer, resultOf(bare).buffer);
  assert.equal(edited.toString('latin1', 0, 3), '[7,');
  assert.ok(stored.equals(value));
});

test('memory of another size, or with something else in front of the value, is copied', async () => {
  await using bare = await aBareConnection({ keepsSent: true });
  const attribute = Buffer.from([0, 0, 0, 8, 0, 0, 0, 4, ...Buffer.from('a\0' + '1\0')]);
  await store(bare, json('4', ownMemoryBytes));
  const withAttributes = { opcode: Opcode.set, key, datatype: 0x04, extras: Buffer.alloc(8) };
  await change(bare, { ...withAttributes, value: Buffer.concat([attribute, json('5', ownMemoryBytes)]) });
  // The attributes are kept in front of the new body.
  const body = json('6', ownMemoryBytes);
  await store(bare, body);
  const stored = read(bare);
  assert.notEqual(stored.buffer, resultOf(bare).buffer);
  assert.ok(stored.equals(body));
});
