// Commands that search for keys, and commands about the residency of documents, over a real socket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullGrants } from '#auth/grants.ts';
import { Feature } from '#wire/features.ts';
import { Datatype, Status } from '#wire/status.ts';
import { DocFlag, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import {
  aBucket,
  aDesired,
  aUser,
  persistToMajority,
  startService,
} from '../../../test/support/data-service.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { VbucketState } from '../data/vbucket-state.ts';

const quotaBytes = 256 * 1024 * 1024;
const key = (name: string, collection = 0) => Buffer.concat([Buffer.from([collection]), Buffer.from(name)]);
const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const set = (client: KvConnection, name: string, value: string, collection = 0, vb = 0) =>
  client.ask({
    opcode: Opcode.set,
    key: key(name, collection),
    extras: Buffer.alloc(8),
    value: Buffer.from(value),
    vb,
    framing: persistToMajority,
  });
const random = (client: KvConnection, collection = 0) =>
  client.ask({ opcode: Opcode.getRandomKey, extras: u32(collection) });
const evict = (client: KvConnection, name: string, collection = 0) =>
  client.ask({ opcode: Opcode.evictKey, key: key(name, collection) });

function keysIn(value: Buffer): string[] {
  const keys: string[] = [];
  for (let at = 0; at < value.length; at += 2 + value.readUInt16BE(at))
    keys.push(value.toString('latin1', at + 2, at + 2 + value.readUInt16BE(at)));
  return keys;
}

async function serviceWith(evictionPolicy: 'valueOnly' | 'fullEviction') {
  return await startService(aDesired({ buckets: [aBucket('b', { quotaBytes, evictionPolicy })] }));
}

for (const policy of ['valueOnly', 'fullEviction'] as const) {
  test(`a document that is on disk is evicted and read back, with ${policy}`, async () => {
    await using service = await serviceWith(policy);
    const client = await service.ready();
    await set(client, 'k', '{"text":"long enough to be worth it, and then some more of the same text"}');
    assert.equal((await evict(client, 'k')).status, Status.success);
    const { nonResident } = (await service.service.report()).buckets[0]!;
    assert.equal(nonResident, 1);
    assert.match((await client.ask({ opcode: Opcode.get, key: key('k') })).value.toString(), /long enough/);
    assert.equal((await service.service.report()).buckets[0]?.nonResident, 0);
    assert.equal((await evict(client, 'missing')).status, Status.keyNotFound);
  });

  test(`a random document may be one that only the disk has, with ${policy}`, async () => {
    await using service = await serviceWith(policy);
    const client = await service.ready();
    const text = `{"text":"${'x'.repeat(100)}"}`;
    await set(client, 'alone', text, 9, 700);
    assert.equal(
      (await client.ask({ opcode: Opcode.evictKey, key: key('alone', 9), vb: 700 })).status,
      Status.success,
    );
    const found = await random(client, 9);
    assert.deepEqual(
      [found.status, found.key.toString('latin1'), found.value.toString()],
      [0, '\talone', text],
    );
    assert.equal((await random(client, 8)).status, Status.keyNotFound);
  });
}

test('only administrators evict, and only in buckets with a disk', async () => {
  const node = { ...fullGrants(), node: 0 };
  await using service = await startService(
    aDesired({
      buckets: [aBucket('b', { type: 'ephemeral', evictionPolicy: 'noEviction' })],
      users: [aUser('admin', 'password'), aUser('writer', 'password', node)],
    }),
  );
  const client = await service.ready();
  await client.ask({ opcode: Opcode.set, key: key('k'), extras: Buffer.alloc(8) });
  assert.equal((await evict(client, 'k')).status, Status.notSupported);
  assert.equal((await evict(await service.ready({ user: 'writer' }), 'k')).status, Status.noAccess);
});

test('a random document of a small collection is found among the documents of large collections', async () => {
  await using service = await startService();
  const client = await service.ready();
  for (let vb = 0; vb < 60; vb++) {
    const many = Array.from({ length: 1000 }, (_, i) => ({
      opcode: Opcode.setQuietly,
      key: key(`k${i}`),
      extras: Buffer.alloc(8),
      vb,
    }));
    client.send(...many);
    await client.ask({ opcode: Opcode.noop });
  }
  await set(client, 'rare', '1', 8, 30);
  for (let i = 0; i < 20; i++) {
    const found = await random(client, 8);
    assert.deepEqual([found.status, found.key.toString('latin1')], [0, '\brare']);
  }
  assert.equal((await random(client)).status, Status.success);
  assert.equal((await random(client, 99)).status, Status.unknownCollection);
});

test('a random document comes with its attributes if they are requested', async () => {
  await using service = await startService();
  const client = await service.ready();
  await client.ask({
    opcode: Opcode.subdocMultiMutation,
    key: key('k'),
    extras: Buffer.from([DocFlag.mkdoc]),
    value: Buffer.concat([
      Buffer.from([SubdocOpcode.dictUpsert, PathFlag.xattr, 0, 1, 0, 0, 0, 1]),
      Buffer.from('a1'),
    ]),
  });
  const query = (flag: number) => Buffer.concat([u32(0), Buffer.from([flag])]);
  const bare = await client.ask({ opcode: Opcode.getRandomKey, extras: query(0) });
  assert.deepEqual([bare.datatype & Datatype.xattr, bare.value.toString()], [0, '{}']);
  const withAttributes = await client.ask({ opcode: Opcode.getRandomKey, extras: query(1) });
  assert.deepEqual(
    [withAttributes.datatype, withAttributes.value.toString('latin1', 8)],
    [5, 'a\x001\x00{}'],
  );
  assert.equal(
    (await client.ask({ opcode: Opcode.getRandomKey, extras: query(2) })).status,
    Status.invalidArguments,
  );
});

test('GET_KEYS lists the requested number of keys of a collection in a vbucket from a start key', async () => {
  await using service = await startService();
  const client = await service.ready();
  for (const name of ['a', 'b', 'c']) await set(client, name, '1');
  await set(client, 'x', '1', 8);
  const list = (name: string, extras: Buffer = Buffer.alloc(0), collection = 0) =>
    client.ask({ opcode: Opcode.getKeys, key: key(name, collection), extras });
  assert.deepEqual(keysIn((await list('a')).value), ['\0a', '\0b', '\0c']);
  assert.deepEqual(keysIn((await list('aa', u32(1))).value), ['\0b']);
  assert.deepEqual(keysIn((await list('a', u32(1), 8)).value), ['\bx']);
  assert.deepEqual(keysIn((await list('d')).value), []);
  const plain = await service.ready({
    features: usualFeatures.filter((code) => code !== Feature.collections),
  });
  const reply = await plain.ask({ opcode: Opcode.getKeys, key: Buffer.from('a') });
  assert.deepEqual(keysIn(reply.value), ['a', 'b', 'c']);
  assert.equal(
    (await client.ask({ opcode: Opcode.getKeys, key: key('a'), vb: 2000 })).status,
    Status.notMyVbucket,
  );
});

test('GET_KEYS lists keys of documents that only the disk has', async () => {
  await using service = await serviceWith('fullEviction');
  const client = await service.ready();
  for (const name of ['a', 'b', 'c']) await set(client, name, '1');
  await evict(client, 'b');
  const reply = await client.ask({ opcode: Opcode.getKeys, key: key('a') });
  assert.deepEqual([reply.status, keysIn(reply.value)], [0, ['\0a', '\0b', '\0c']]);
});

test('GET_VBUCKET returns the state of a vbucket', async () => {
  await using service = await startService();
  const client = await service.ready();
  assert.equal(
    (await client.ask({ opcode: Opcode.getVbucket, vb: 5 })).value.readUInt32BE(),
    VbucketState.active,
  );
  assert.equal((await client.ask({ opcode: Opcode.getVbucket, vb: 5000 })).status, Status.notMyVbucket);
});

test('reads do not overtake a search for keys on disk, although the client has unordered execution', async () => {
  await using service = await serviceWith('fullEviction');
  const client = await service.ready({ features: [...usualFeatures, Feature.unorderedExecution] });
  await set(client, 'k', '1');
  await evict(client, 'k');
  const missing = { opcode: Opcode.get, key: key('none') };
  const searches = [
    { opcode: Opcode.getKeys, key: key('a') },
    { opcode: Opcode.getRandomKey, extras: u32(0) },
  ];
  for (const search of searches) {
    client.send({ ...search, opaque: 1 }, { ...missing, opaque: 2 });
    assert.deepEqual([(await client.next())?.opaque, (await client.next())?.opaque], [1, 2]);
  }
});
