// Sub-document commands over a real socket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Privilege } from '#auth/privileges.ts';
import { Feature } from '#wire/features.ts';
import type { RequestParts } from '#wire/output.ts';
import { snappyCompress } from '#wire/snappy.ts';
import { Status } from '#wire/status.ts';
import { DocFlag, SubdocOpcode as Op, PathFlag } from '#wire/subdoc-opcodes.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import { aDesired, aUser, persistToMajority, startService } from '../../../test/support/data-service.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const key = Buffer.from('\0k');
const cas = (value: bigint) => ({ casHi: Number(value >> 32n), casLo: Number(value & 0xffffffffn) });
/** Document flags with which SDK transactions stage an insert: only requests with access to deleted documents find the document. */
const stagedInsert = DocFlag.createAsDeleted | DocFlag.add | DocFlag.accessDeleted;
const noExtras = Buffer.alloc(0);

type LookupSpec = readonly [opcode: number, path: string, flags?: number];
type MutationSpec = readonly [opcode: number, path: string, value?: string, flags?: number];

function lookup(specs: readonly LookupSpec[], docFlags = 0): RequestParts {
  const parts = specs.map(([opcode, path, flags = 0]) =>
    Buffer.concat([Buffer.from([opcode, flags, 0, path.length]), Buffer.from(path)]),
  );
  const extras = docFlags === 0 ? noExtras : Buffer.from([docFlags]);
  return { opcode: Op.multiLookup, key, extras, value: Buffer.concat(parts) };
}

function mutation(
  specs: readonly MutationSpec[],
  docFlags = 0,
  overrides: Partial<RequestParts> = {},
): RequestParts {
  const parts = specs.map(([opcode, path, value = '', flags = 0]) => {
    const head = Buffer.from([opcode, flags, 0, path.length, 0, 0, 0, value.length]);
    return Buffer.concat([head, Buffer.from(path + value)]);
  });
  const extras = docFlags === 0 ? noExtras : Buffer.from([docFlags]);
  return { opcode: Op.multiMutation, key, extras, value: Buffer.concat(parts), ...overrides };
}

/** Status and value of each path. */
async function lookUp(client: KvConnection, specs: readonly LookupSpec[], docFlags = 0) {
  const reply = await client.ask(lookup(specs, docFlags));
  const results: [number, string][] = [];
  for (let at = 0; at < reply.value.length; ) {
    const end = at + 6 + reply.value.readUInt32BE(at + 2);
    results.push([reply.value.readUInt16BE(at), reply.value.toString('utf8', at + 6, end)]);
    at = end;
  }
  return { status: reply.status, results };
}

const store = (client: KvConnection, value: string | Buffer, datatype = 0) =>
  client.ask({ opcode: Opcode.set, key, extras: Buffer.alloc(8), value: Buffer.from(value), datatype });
const body = async (client: KvConnection) => (await client.ask({ opcode: Opcode.get, key })).value.toString();

test('several paths are looked up at once, of a compressed document too', async () => {
  await using service = await startService();
  const client = await service.ready();
  const text = Buffer.from(JSON.stringify({ a: { b: [1, 2] }, filler: 'x'.repeat(500) }));
  await store(client, snappyCompress(text, 0, text.length), 2);
  const found = await lookUp(client, [
    [Op.get, 'a.b[1]'],
    [Op.exists, 'none'],
    [Op.getCount, 'a.b'],
  ]);
  assert.deepEqual(found, {
    status: Status.subdocMultiPathFailure,
    results: [
      [0, '2'],
      [Status.subdocPathNotFound, ''],
      [0, '2'],
    ],
  });
  assert.equal((await lookUp(client, [[Op.get, 'a']])).status, Status.success);
  assert.equal((await client.ask({ ...lookup([[Op.get, 'a']]), key: Buffer.from('\0none') })).status, 1);
  assert.equal((await client.ask({ opcode: Op.multiLookup, key })).status, Status.subdocInvalidCombo);
});

test('several paths are changed at once or none, with the token of the mutation', async () => {
  await using service = await startService();
  const client = await service.ready();
  await store(client, '{"n":1}');
  const changed = await client.ask(
    mutation([
      [Op.dictUpsert, 'x', '"y"'],
      [Op.counter, 'n', '5'],
    ]),
  );
  assert.deepEqual([changed.status, changed.extras.length], [0, 16]);
  assert.equal(changed.value.toString('latin1', 7), '6');
  assert.equal(changed.value[0], 1);
  assert.deepEqual(JSON.parse(await body(client)), { n: 6, x: 'y' });
  const refused = await client.ask(
    mutation([
      [Op.dictUpsert, 'z', '1'],
      [Op.dictAdd, 'x', '2'],
    ]),
  );
  assert.deepEqual(
    [refused.status, refused.value.toString('hex')],
    [Status.subdocMultiPathFailure, '0100c9'],
  );
  assert.deepEqual(JSON.parse(await body(client)), { n: 6, x: 'y' });
});

test('CAS and lock are checked before the paths', async () => {
  await using service = await startService();
  const client = await service.ready();
  const stored = await store(client, '{}');
  const refusedMutation = mutation([[Op.replace, 'none', '1']]);
  assert.equal((await client.ask({ ...refusedMutation, casLo: 9 })).status, Status.keyExists);
  assert.equal(
    (await client.ask({ ...refusedMutation, ...cas(stored.cas) })).status,
    Status.subdocMultiPathFailure,
  );
  const locked = await client.ask({ opcode: Opcode.getAndLock, key });
  assert.equal((await client.ask(refusedMutation)).status, Status.locked);
  const acceptedMutation = mutation([[Op.dictUpsert, 'a', '1']], 0, cas(locked.cas));
  assert.equal((await client.ask(acceptedMutation)).status, Status.success);
  assert.equal((await client.ask(mutation([[Op.dictUpsert, 'a', '2']]))).status, Status.success);
});

test('single-path commands answer in the header', async () => {
  await using service = await startService();
  const client = await service.ready();
  await store(client, '{"n":1}');
  const single = (opcode: number, path: string, value = '') =>
    client.ask({ opcode, key, extras: Buffer.from([0, path.length, 0]), value: Buffer.from(path + value) });
  assert.equal((await single(Op.get, 'n')).value.toString(), '1');
  assert.equal((await single(Op.get, 'x')).status, Status.subdocPathNotFound);
  const counted = await single(Op.counter, 'n', '41');
  assert.deepEqual([counted.status, counted.value.toString(), counted.extras.length], [0, '42', 16]);
  assert.equal((await single(Op.dictUpsert, 'n', 'not json')).status, Status.subdocValueCantInsert);
});

test('a document that is created as deleted is seen with access to deleted ones, and revived', async () => {
  await using service = await startService();
  const client = await service.ready();
  const staged = await client.ask(
    mutation([[Op.dictUpsert, 'txn.op', '"insert"', PathFlag.xattr | PathFlag.mkdirP]], stagedInsert),
  );
  assert.equal(staged.status, Status.subdocSuccessDeleted);
  assert.equal((await client.ask({ opcode: Opcode.get, key })).status, Status.keyNotFound);
  const seen = await lookUp(
    client,
    [
      [Op.get, 'txn.op', PathFlag.xattr],
      [Op.get, 'a'],
    ],
    DocFlag.accessDeleted,
  );
  assert.deepEqual(seen.results[0], [0, '"insert"']);
  assert.equal((await lookUp(client, [[Op.get, 'txn.op', PathFlag.xattr]])).status, Status.keyNotFound);
  const again = await client.ask(
    mutation([[Op.dictUpsert, 'txn.op', '"insert"', PathFlag.xattr | PathFlag.mkdirP]], stagedInsert),
  );
  assert.equal(again.status, Status.keyExists);
  const revived = mutation(
    [
      [Op.delete, 'txn', '', PathFlag.xattr],
      [Op.setDoc, '', '{"a":1}'],
    ],
    DocFlag.revive | DocFlag.accessDeleted,
    cas(staged.cas),
  );
  assert.equal((await client.ask(revived)).status, Status.success);
  assert.equal(await body(client), '{"a":1}');
});

test('attributes survive a new version of the document, and system attributes its deletion', async () => {
  await using service = await startService();
  const client = await service.ready();
  await client.ask(
    mutation(
      [
        [Op.dictUpsert, '_sys', '1', PathFlag.xattr],
        [Op.setDoc, '', '{"a":1}'],
      ],
      DocFlag.mkdoc,
    ),
  );
  await client.ask(mutation([[Op.dictUpsert, 'user', '2', PathFlag.xattr]]));
  await store(client, '{"b":2}');
  assert.deepEqual((await lookUp(client, [[Op.get, '_sys', PathFlag.xattr]])).results, [[0, '1']]);
  assert.deepEqual((await lookUp(client, [[Op.get, 'user', PathFlag.xattr]])).results, [[0, '2']]);
  assert.equal(await body(client), '{"b":2}');
  await client.ask({ opcode: Opcode.delete, key });
  assert.deepEqual(
    (await lookUp(client, [[Op.get, '_sys', PathFlag.xattr]], DocFlag.accessDeleted)).results,
    [[0, '1']],
  );
  assert.deepEqual(
    (await lookUp(client, [[Op.get, 'user', PathFlag.xattr]], DocFlag.accessDeleted)).results,
    [[Status.subdocPathNotFound, '']],
  );
});

test('a tombstone has the user flags that the document had', async () => {
  await using service = await startService();
  const client = await service.ready();
  const extras = Buffer.from([2, 0, 0, 6, 0, 0, 0, 0]);
  await client.ask({ opcode: Opcode.set, key, extras, value: Buffer.from('{}') });
  await client.ask({ opcode: Opcode.delete, key });
  const flags = await lookUp(client, [[Op.get, '$document.flags', PathFlag.xattr]], DocFlag.accessDeleted);
  assert.deepEqual(flags.results, [[0, String(0x02000006)]]);
});

test('macros are expanded to the CAS of the mutation', async () => {
  await using service = await startService();
  const client = await service.ready();
  const specs = [
    [Op.dictUpsert, 'm', `"\${Mutation.CAS}"`, PathFlag.xattr | PathFlag.expandMacros],
    [Op.setDoc, '', '{}'],
  ] as const;
  const stored = await client.ask(mutation(specs, DocFlag.mkdoc));
  const swapped = Buffer.alloc(8);
  swapped.writeBigUInt64LE(stored.cas);
  const found = await lookUp(client, [
    [Op.get, 'm', PathFlag.xattr],
    [Op.get, '$document.CAS', PathFlag.xattr],
  ]);
  const plain = stored.cas.toString(16).padStart(16, '0');
  assert.deepEqual(found.results, [
    [0, `"0x${swapped.toString('hex')}"`],
    [0, `"0x${plain}"`],
  ]);
});

test('a durable sub-document write is answered once it is durable', async () => {
  await using service = await startService();
  const client = await service.ready();
  const framing = persistToMajority;
  const reply = await client.ask(mutation([[Op.dictUpsert, 'a', '1']], DocFlag.mkdoc, { framing }));
  assert.deepEqual([reply.status, reply.extras.length], [0, 16]);
  assert.equal(await body(client), '{"a":1}');
});

test('system attributes and deletion require separate privileges', async () => {
  const { read, upsert } = Privilege;
  const clerk = aUser('clerk', 'password', { node: 0, buckets: { b: { privileges: read | upsert } } });
  await using service = await startService(aDesired({ users: [clerk] }));
  const client = await service.ready({ user: 'clerk' });
  const sets = [
    [Op.dictUpsert, '_sys', '1', PathFlag.xattr],
    [Op.dictUpsert, 'a', '1'],
  ] as const;
  const failed = await client.ask(mutation(sets, DocFlag.mkdoc));
  assert.equal(failed.status, Status.subdocMultiPathFailure);
  assert.deepEqual([failed.value[0], failed.value.readUInt16BE(1)], [0, Status.noAccess]);
  const single = {
    opcode: Op.dictUpsert,
    key,
    extras: Buffer.from([0, 4, PathFlag.xattr, DocFlag.mkdoc]),
    value: Buffer.from('_sys1'),
  };
  assert.equal((await client.ask(single)).status, Status.noAccess);
  assert.equal(
    (await client.ask(mutation([[Op.dictUpsert, 'user', '1', PathFlag.xattr]], DocFlag.mkdoc))).status,
    Status.success,
  );
  const refused = await client.ask(mutation([[Op.deleteDoc, '']]));
  assert.equal(refused.status, Status.noAccess);
  assert.match(refused.value.toString(), /Requires privilege: Delete"/);
});

test('replica reads of a vbucket that is active here are refused', async () => {
  await using service = await startService();
  const client = await service.ready({ features: [...usualFeatures, Feature.subdocReplicaRead] });
  const specs = Buffer.concat([Buffer.from([Op.get, 0, 0, 1]), Buffer.from('a')]);
  const inReplica = {
    opcode: Op.multiLookup,
    key: Buffer.from('\0k'),
    extras: Buffer.from([DocFlag.replicaRead]),
    value: specs,
  };
  assert.equal((await client.ask(inReplica)).status, Status.notMyVbucket);
  assert.equal(
    (await client.ask({ opcode: Opcode.getReplica, key: Buffer.from('\0k') })).status,
    Status.notMyVbucket,
  );
  const older = await service.ready();
  assert.equal((await older.ask(inReplica)).status, Status.invalidArguments);
});

for (const [name, request] of [
  ['lookups', lookup([[Op.get, 'n']])],
  ['a counter', { opcode: Op.counter, key, extras: Buffer.from([0, 1, 0]), value: Buffer.from('n1') }],
  ['counters among several paths', mutation([[Op.counter, 'n', '1']])],
] as const)
  test(`replies to ${name} are whole when the output grows in the middle of many`, async () => {
    await using service = await startService();
    const client = await service.ready();
    await store(client, JSON.stringify({ n: 1_000, text: 'x'.repeat(2_040) }));
    const first = await client.ask(request);
    // These replies nearly fill the output.
    const reads = new Array<RequestParts>(31).fill({ opcode: Opcode.get, key });
    const asked = new Array<RequestParts>(200).fill(request);
    client.send(...reads, ...asked);
    for (const _ of reads) assert.equal((await client.next())?.status, Status.success);
    const digits = 4;
    const head = first.value.subarray(0, -digits);
    let n = Number(first.value.subarray(-digits));
    for (const _ of asked) {
      if (request.opcode !== Op.multiLookup) n++;
      const { value } = (await client.next()) as { value: Buffer };
      assert.deepEqual(value, Buffer.concat([head, Buffer.from(String(n))]));
    }
  });
