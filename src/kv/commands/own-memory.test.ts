// Large values are sent and worked on from the memory where they are: a copy of 20 MB takes longer than a turn may.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeRequest, type RequestParts } from '#wire/output.ts';
import { aBareConnection, type BareConnection } from '../../../test/support/bare-connection.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { ownMemoryBytes } from '../data/documents.ts';

const key = Buffer.from('\0k');
const get = { opcode: 0x00, key };
const json = (digit: string, bytes: number): Buffer => Buffer.from(`[${digit.repeat(bytes - 2)}]`);

function send({ connection }: BareConnection, ...requests: RequestParts[]): void {
  const bytes = Buffer.concat(requests.map(encodeRequest));
  connection.received(bytes, 0, bytes.length);
}

async function store(bare: BareConnection, value: Buffer): Promise<void> {
  const before = bare.sent.length;
  send(bare, { opcode: 0x01, key, extras: Buffer.alloc(8), value });
  await eventually(() => {
    for (const connection of bare.woken.splice(0)) connection.resume();
    assert.equal(bare.sent.length, before + 1);
  });
  assert.equal(bare.sent[before]?.readUInt16BE(6), 0);
}

const isShared = ({ buffer }: Buffer): boolean => buffer instanceof SharedArrayBuffer;
const wholeOf = (parts: Buffer[]): Buffer => Buffer.concat(parts);

test('a large document is sent from its own memory, in order with what is around it', async () => {
  await using bare = await aBareConnection({ keepsSent: true });
  const value = json('7', ownMemoryBytes);
  await store(bare, value);
  const from = bare.sent.length;
  send(
    bare,
    { opcode: 0x0a, opaque: 1 },
    { ...get, opaque: 2 },
    { ...get, opaque: 3 },
    { opcode: 0x0a, opaque: 4 },
  );
  const parts = bare.sent.slice(from);
  const own = parts.filter(isShared);
  assert.deepEqual(
    own.map(({ length }) => length),
    [value.length, value.length],
  );
  const whole = wholeOf(parts);
  let at = 0;
  for (const opaque of [1, 2, 3, 4]) {
    assert.equal(whole.readUInt32BE(at + 12), opaque);
    const end = at + 24 + whole.readUInt32BE(at + 8);
    if (opaque === 2 || opaque === 3) assert.ok(whole.subarray(end - value.length, end).equals(value));
    at = end;
  }
  assert.equal(at, whole.length);
});

test('what is being sent of a document stays when it is overwritten, also by one of the same size, and deleted', async () => {
  await using bare = await aBareConnection({ keepsSent: true });
  const first = json('1', ownMemoryBytes);
  await store(bare, first);
  send(bare, get);
  const own = bare.sent.find(isShared) as Buffer;
  await store(bare, json('2', ownMemoryBytes));
  assert.ok(own.equals(first));
  send(bare, { opcode: 0x04, key });
  await store(bare, json('3', ownMemoryBytes));
  assert.ok(own.equals(first));
});

test('a smaller document is copied: its memory is used again', async () => {
  await using bare = await aBareConnection({ keepsSent: true });
  await store(bare, json('1', ownMemoryBytes - 1024));
  send(bare, get);
  assert.equal(bare.sent.filter(isShared).length, 0);
});

test('heavy work reads a large document where it is, and a long path is sent from there', async () => {
  await using bare = await aBareConnection({ keepsSent: true });
  const value = json('5', ownMemoryBytes);
  await store(bare, value);
  send(bare, get);
  const own = bare.sent.find(isShared) as Buffer;
  bare.sent.length = 0;
  // Twice the whole document, and the first element's opening digits do not matter: a count of the root.
  const wholeDocument = Buffer.from([0x00, 0, 0, 0]);
  send(bare, {
    opcode: 0xd0,
    key,
    value: Buffer.concat([wholeDocument, Buffer.from([0xd2, 0, 0, 0]), wholeDocument]),
  });
  await eventually(() => {
    for (const connection of bare.woken.splice(0)) connection.resume();
    assert.ok(bare.sent.length > 0);
  });
  const job = bare.jobs.at(-1);
  assert.ok(job?.kind === 'lookup');
  assert.equal(job.document.value.buffer, own.buffer);
  assert.deepEqual(
    bare.sent.filter(isShared).map(({ buffer }) => buffer === own.buffer),
    [true, true],
  );
  const whole = wholeOf(bare.sent);
  assert.equal(whole.length, 24 + whole.readUInt32BE(8));
  const headBytes = 6;
  const countBytes = '1'.length;
  let at = whole.length - 2 * (headBytes + value.length) - headBytes - countBytes;
  assert.equal(whole.readUInt32BE(at + 2), value.length);
  assert.ok(whole.subarray(at + headBytes, at + headBytes + value.length).equals(value));
  at += headBytes + value.length;
  assert.equal(whole.toString('latin1', at + headBytes, at + headBytes + countBytes), '1');
  at += headBytes + countBytes;
  assert.ok(whole.subarray(at + headBytes).equals(value));
});
