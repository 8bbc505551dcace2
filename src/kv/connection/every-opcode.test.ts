// Every possible opcode in many frame shapes, valid and invalid: each gets a proper reply.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prng } from '#base/prng.ts';
import { silentLog } from '#ports/log.ts';
import { commandTable } from '#wire/commands/index.ts';
import { Feature } from '#wire/features.ts';
import type { RequestParts } from '#wire/output.ts';
import { Datatype, Status } from '#wire/status.ts';
import { startService } from '../../../test/support/data-service.ts';
import type { KvConnection, Reply } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { printedSeed } from '../../../test/support/seed.ts';

const seed = printedSeed(console.log, 20_261_120);
/** All but unordered execution: the replies are expected in the order of the requests. */
const allFeatures = Object.values(Feature).filter((code) => code !== Feature.unorderedExecution);
const opcodes = Array.from({ length: 256 }, (_, opcode) => opcode);
const statuses = new Set<number>(Object.values(Status));
/** These commands change or end the session. */
const changesSession = /^(HELLO|SASL|SELECT_BUCKET|QUIT|DCP_OPEN)/;
const marker = 0x5eed;

/** Frame shapes that are valid for some command, and shapes that are valid for none. */
function shapes(opcode: number): Record<string, Partial<RequestParts>> {
  const random = prng(seed + opcode);
  const key = Buffer.from('\0some key');
  const value = Buffer.from('{"a":[1,2]}');
  const declared = commandTable[opcode]?.request.extras ?? [0];
  const right = declared.map((bytes) => [`extras of ${bytes}`, { extras: Buffer.alloc(bytes) }]);
  const wholeRequests = declared.map((bytes) => [
    `all of it, extras of ${bytes}`,
    { extras: random.bytes(bytes), key, value, vb: random.below(1024) },
  ]);
  return {
    empty: {},
    'a key': { key },
    'a value': { value },
    'a key and a value': { key, value },
    'an empty logical key': { key: Buffer.from([0]) },
    'a key of a collection that does not exist': { key: Buffer.from([0x63, 0x61]) },
    'a key without an end of its collection id': { key: Buffer.alloc(5, 0xff) },
    'a key of 252 bytes': { key: Buffer.alloc(252, 0x61) },
    'a key of 60000 bytes': { key: Buffer.alloc(60_000, 0x61), opaque: 7 },
    'extras of one byte': { extras: Buffer.alloc(1), key, value },
    'extras of 255 bytes': { extras: Buffer.alloc(255, 0xff), key, value },
    'extras of all ones': { extras: Buffer.alloc(declared[0] as number, 0xff), key, value },
    'a value of a megabyte': { value: Buffer.alloc(1024 * 1024, 0x7b) },
    'an unknown datatype': { datatype: 0xff, key, value },
    'a value that is said to be compressed': {
      datatype: Datatype.snappy,
      key,
      value,
      extras: Buffer.alloc(declared[0] as number),
    },
    'a value that is said to have attributes': {
      datatype: Datatype.xattr,
      key,
      value,
      extras: Buffer.alloc(declared[0] as number),
    },
    'a vbucket that does not exist': { vb: 0xffff, key, value, extras: Buffer.alloc(declared[0] as number) },
    'a CAS': { casHi: 1, casLo: 2, key, value, extras: Buffer.alloc(declared[0] as number) },
    durability: { framing: Buffer.from([0x11, 1]), key, value, extras: Buffer.alloc(declared[0] as number) },
    'truncated framing': { framing: Buffer.from([0x13, 1]), key },
    'framing of an unknown kind': { framing: Buffer.from([0xe0]), key },
    noise: { extras: random.bytes(random.below(40)), key: random.bytes(20), value: random.bytes(200) },
    ...Object.fromEntries([...right, ...wholeRequests]),
  };
}

/** The replies to one request, up to that of a following NOOP; `isOver` if the connection was closed instead. */
async function repliesTo(client: KvConnection, request: RequestParts) {
  client.send(request, { opcode: Opcode.noop, opaque: marker });
  const replies: Reply[] = [];
  for (let reply = await client.next(); reply; reply = await client.next()) {
    if (reply.opcode === Opcode.noop && reply.opaque === marker) return { replies, isOver: false };
    replies.push(reply);
  }
  return { replies, isOver: true };
}

test(`every opcode is answered in every shape of its frame (seed ${seed})`, {
  timeout: 600_000,
}, async () => {
  const failures: object[] = [];
  const log = {
    ...silentLog,
    error: (event: string, fields?: object) => failures.push({ event, ...fields }),
  };
  await using service = await startService(undefined, { log });
  for (const opcode of opcodes) {
    const command = commandTable[opcode];
    const isFresh = command !== undefined && changesSession.test(command.name);
    let client = await service.ready({ features: allFeatures });
    for (const [shape, parts] of Object.entries(shapes(opcode))) {
      const what = `0x${opcode.toString(16)} with ${shape}`;
      if (isFresh) {
        client.close();
        client = await service.ready({ features: allFeatures });
      }
      const { replies, isOver } = await repliesTo(client, { opcode, opaque: 7, ...parts });
      assert.ok(!isOver || command?.name.startsWith('QUIT'), `${what} ends the connection`);
      for (const reply of replies) {
        assert.deepEqual([reply.opcode, reply.opaque], [opcode, 7], what);
        assert.ok(
          statuses.has(reply.status) && reply.status !== Status.internalError,
          `${what}: ${reply.status}`,
        );
      }
      if (!command)
        assert.deepEqual(
          replies.map(({ status }) => status),
          [Status.unknownCommand],
          what,
        );
      else if (!command.quiet && !/QUITQ|ACKNOW/.test(command.name)) assert.ok(replies.length > 0, what);
    }
    client.close();
  }
  assert.deepEqual(failures, []);
});

test('an unauthenticated client executes no command that requires a login, with any frame', async () => {
  await using service = await startService();
  for (const opcode of opcodes) {
    const command = commandTable[opcode];
    if (command?.session === 'none') continue;
    const client = await service.connect();
    await client.hello([Feature.xerror, Feature.json, Feature.collections]);
    const reply = await client.ask({
      opcode,
      extras: Buffer.alloc(command?.request.extras?.[0] ?? 0),
      ...wellFormed(opcode),
    });
    assert.equal(reply.status, command ? Status.noAccess : Status.unknownCommand, `0x${opcode.toString(16)}`);
    client.close();
  }
});

function wellFormed(opcode: number): Partial<RequestParts> {
  const { key, value, cas } = commandTable[opcode]?.request ?? {};
  return {
    ...(key === 'document' || key === 'text' ? { key: Buffer.from('\0k') } : {}),
    ...(value === 'required' ? { value: Buffer.from('{}') } : {}),
    ...(cas === 'required' ? { casLo: 1 } : {}),
  };
}
