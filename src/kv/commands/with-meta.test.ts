// Writes of versions from another cluster, over a real socket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullGrants } from '#auth/grants.ts';
import { Privilege } from '#auth/privileges.ts';
import { Feature } from '#wire/features.ts';
import type { RequestParts } from '#wire/output.ts';
import { snappyCompress } from '#wire/snappy.ts';
import { Datatype, Status } from '#wire/status.ts';
import { DocFlag, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { WithMetaOption } from '#wire/with-meta.ts';
import { withXattrs } from '../../../test/support/a-bucket.ts';
import { aBucket, aDesired, aUser, startService } from '../../../test/support/data-service.ts';
import type { KvConnection, Reply } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const key = (name: string) => Buffer.from(`\0${name}`);
const casBase = 0x1800000000000000n;
const { setWithMeta, addWithMeta, deleteWithMeta } = Opcode;
const { setWithMetaQuietly, addWithMetaQuietly, deleteWithMetaQuietly } = Opcode;
const { acceptsLastWrite, regeneratesCas, skipsResolution, isExpiration } = WithMetaOption;

interface Meta {
  flags?: number;
  expiry?: number;
  rev?: number;
  cas?: bigint;
  options?: number;
  /** Length of the metadata that older senders append to the value. */
  nmeta?: number;
}

function metaExtras({ flags = 5, expiry = 0, rev = 1, cas = casBase, options, nmeta }: Meta): Buffer {
  const fixed = Buffer.alloc(24);
  fixed.writeUInt32BE(flags);
  fixed.writeUInt32BE(expiry, 4);
  fixed.writeBigUInt64BE(BigInt(rev), 8);
  fixed.writeBigUInt64BE(cas, 16);
  const optional: Buffer[] = [];
  if (options !== undefined) {
    const word = Buffer.alloc(4);
    word.writeUInt32BE(options);
    optional.push(word);
  }
  if (nmeta !== undefined) optional.push(Buffer.from([nmeta >> 8, nmeta & 0xff]));
  return Buffer.concat([fixed, ...optional]);
}

const write = (
  opcode: number,
  name: string,
  meta: Meta,
  value: string | Buffer = '',
  overrides: Partial<RequestParts> = {},
): RequestParts => ({
  opcode,
  key: key(name),
  extras: metaExtras(meta),
  value: Buffer.from(value),
  ...overrides,
});

async function metaOf(client: KvConnection, name: string) {
  const { status, cas, extras } = await client.ask({
    opcode: Opcode.getMeta,
    key: key(name),
    extras: Buffer.from([2]),
  });
  if (status !== Status.success) return null;
  const [deleted, flags, expiry] = [0, 4, 8].map((at) => extras.readUInt32BE(at));
  const rev = Number(extras.readBigUInt64BE(12));
  return { deleted, flags, expiry, rev, cas, datatype: extras[20] };
}

const words = (cas: bigint) => ({ casHi: Number(cas >> 32n), casLo: Number(cas & 0xffffffffn) });
const statusOf = async (reply: Promise<Reply>) => (await reply).status;

test('the metadata of the version is kept, in all four layouts', async () => {
  await using service = await startService();
  const client = await service.ready();
  const expiry = Math.floor(Date.now() / 1000) + 1000;
  for (const extra of [{}, { nmeta: 3 }, { options: 0 }, { options: skipsResolution, nmeta: 3 }]) {
    const name = `k${JSON.stringify(extra)}`;
    const value = `{"a":1}${'nmeta' in extra ? 'xyz' : ''}`;
    const reply = await client.ask(write(setWithMeta, name, { rev: 9, expiry, ...extra }, value));
    assert.deepEqual([reply.status, reply.cas, reply.extras.length], [0, casBase, 16]);
    const stored = { deleted: 0, flags: 5, expiry, rev: 9, cas: casBase, datatype: Datatype.json };
    assert.deepEqual(await metaOf(client, name), stored);
    const read = await client.ask({ opcode: Opcode.get, key: key(name) });
    assert.equal(read.value.toString(), '{"a":1}');
  }
  const changed = await client.ask({ opcode: Opcode.set, key: key('k{}'), extras: Buffer.alloc(8) });
  assert.equal((await metaOf(client, 'k{}'))?.rev, 10);
  assert.ok(changed.cas > casBase);
});

test('versions that are further from the clock than the bucket allows are counted, by limits that change live', async () => {
  const limits = (ahead: number) =>
    aDesired({
      buckets: [aBucket('b', { conflictResolution: 'lww', clockDriftMs: { ahead, behind: 60_000 } })],
    });
  await using service = await startService(limits(3_600_000));
  const client = await service.ready();
  const send = async (name: string, ms: number, options: number = acceptsLastWrite) => {
    const cas = BigInt(Date.now() + ms) * 1_000_000n;
    assert.equal(await statusOf(client.ask(write(setWithMeta, name, { cas, options }))), Status.success);
  };
  const drift = async () => {
    const { buckets } = await service.service.report();
    return buckets[0]?.activity.drift.active ?? { us: 0 };
  };
  await send('near', 600_000);
  await send('far', 7_200_000);
  await send('old', -600_000);
  // The node makes the CAS: there is no drift to count.
  await send('remade', 7_200_000, regeneratesCas | skipsResolution);
  const { us, ...counts } = await drift();
  assert.deepEqual(counts, { writes: 3, ahead: 1, behind: 1 });
  assert.ok(Math.abs(us / 1e6 - 8400) < 300, `${us} µs`);
  await service.service.apply(limits(60_000));
  await send('near', 660_000);
  assert.deepEqual({ ...(await drift()), us: 0 }, { us: 0, writes: 4, ahead: 2, behind: 1 });
});

test('later writes get a higher CAS than a version from a cluster whose clock is ahead', async () => {
  await using service = await startService();
  const client = await service.ready();
  const ahead = BigInt(Date.now() + 3_600_000) * 1_000_000n;
  await client.ask(write(setWithMeta, 'k', { cas: ahead }, '1'));
  const next = await client.ask({ opcode: Opcode.set, key: key('k'), extras: Buffer.alloc(8) });
  assert.equal(next.cas, ahead + 1n);
});

test('the version with more revisions wins, also for deletions', async () => {
  await using service = await startService();
  const client = await service.ready();
  const set = (rev: number, cas = casBase) =>
    statusOf(client.ask(write(setWithMeta, 'k', { rev, cas }, '1')));
  assert.equal(await set(5), Status.success);
  assert.equal(await set(5), Status.keyExists);
  assert.equal(await set(4, casBase + 9n), Status.keyExists);
  assert.equal(await statusOf(client.ask(write(deleteWithMeta, 'k', { rev: 5 }))), Status.keyExists);
  assert.equal(await statusOf(client.ask(write(deleteWithMeta, 'k', { rev: 7 }))), Status.success);
  assert.deepEqual([(await metaOf(client, 'k'))?.deleted, (await metaOf(client, 'k'))?.rev], [1, 7]);
  assert.equal(await set(6), Status.keyExists);
  assert.equal(await set(8), Status.success);
  assert.equal(
    await statusOf(client.ask(write(setWithMeta, 'k', { rev: 1, options: skipsResolution }, '2'))),
    Status.success,
  );
  assert.equal((await metaOf(client, 'k'))?.rev, 1);
  assert.equal(
    await statusOf(client.ask(write(deleteWithMeta, 'none', { rev: 3, options: isExpiration }))),
    Status.success,
  );
  assert.equal((await metaOf(client, 'none'))?.deleted, 1);
});

test('the last write wins in buckets with that conflict resolution, if the sender accepts it', async () => {
  const buckets = [aBucket('b', { conflictResolution: 'lww' })];
  await using service = await startService(aDesired({ buckets }));
  const client = await service.ready();
  const set = (meta: Meta) => statusOf(client.ask(write(setWithMeta, 'k', meta, '1')));
  assert.equal(await set({}), Status.invalidArguments);
  assert.equal(await set({ options: 0 }), Status.invalidArguments);
  assert.equal(await set({ options: acceptsLastWrite, rev: 9 }), Status.success);
  assert.equal(await set({ options: acceptsLastWrite, rev: 1, cas: casBase + 1n }), Status.success);
  assert.equal(await set({ options: acceptsLastWrite, rev: 99 }), Status.keyExists);
  assert.equal(await set({ options: regeneratesCas | skipsResolution }), Status.success);
  assert.notEqual((await metaOf(client, 'k'))?.cas, casBase);
});

test('a version from after the last change wins also if the document was locked later', async () => {
  const buckets = [aBucket('b', { conflictResolution: 'lww' })];
  await using service = await startService(aDesired({ buckets }));
  const client = await service.ready();
  const set = (cas: bigint) =>
    statusOf(client.ask(write(setWithMeta, 'k', { cas, options: acceptsLastWrite }, '1')));
  assert.equal(await set(casBase), Status.success);
  const locked = await client.ask({ opcode: Opcode.getAndLock, key: key('k') });
  assert.ok(locked.cas > casBase + 1n);
  assert.equal(await set(casBase - 1n), Status.keyExists);
  assert.equal(await set(casBase + 1n), Status.locked, 'the sender does not try again');
  const unlock = { opcode: Opcode.unlock, key: key('k'), ...words(locked.cas) };
  assert.equal(await statusOf(client.ask(unlock)), Status.success);
  assert.equal((await metaOf(client, 'k'))?.cas, casBase);
  assert.equal(await set(casBase + 1n), Status.success);
});

test('invalid options, CAS values and revisions are refused', async () => {
  await using service = await startService();
  const client = await service.ready();
  const set = (meta: Meta) => statusOf(client.ask(write(setWithMeta, 'k', meta, '1')));
  assert.equal(await set({ options: acceptsLastWrite }), Status.invalidArguments);
  assert.equal(await set({ options: regeneratesCas }), Status.invalidArguments);
  assert.equal(await set({ options: isExpiration }), Status.invalidArguments);
  assert.equal(await set({ nmeta: 2 }), Status.invalidArguments);
  assert.equal(await set({ rev: 2 ** 48 }), Status.invalidArguments);
  assert.equal(await set({ cas: 0n }), Status.casValueInvalid);
  assert.equal(await set({ cas: 0xffffffffffffffffn }), Status.casValueInvalid);
  assert.equal(
    await set({ cas: 0xffffffff00000000n }),
    Status.casValueInvalid,
    'later writes would get no CAS',
  );
  assert.equal(await statusOf(client.ask(write(deleteWithMeta, 'k', {}, 'body'))), Status.invalidArguments);
  assert.equal(await metaOf(client, 'k'), null);
});

test('a CAS in the header must be that of the stored document', async () => {
  await using service = await startService();
  const client = await service.ready();
  const set = (rev: number, cas: bigint) => client.ask(write(setWithMeta, 'k', { rev }, '1', words(cas)));
  assert.equal((await set(1, 1n)).status, Status.keyNotFound);
  assert.equal((await set(1, 0n)).status, Status.success);
  assert.equal((await set(2, 1n)).status, Status.keyExists);
  assert.equal((await set(2, casBase)).status, Status.success);
});

test('a version is added only if there is no live document', async () => {
  await using service = await startService();
  const client = await service.ready();
  const add = (rev: number) => statusOf(client.ask(write(addWithMeta, 'k', { rev }, '1')));
  assert.deepEqual([await add(1), await add(2)], [Status.success, Status.keyExists]);
  await client.ask(write(deleteWithMeta, 'k', { rev: 3 }));
  assert.equal(await add(4), Status.success);
});

test('attributes of documents and of deletions are kept', async () => {
  await using service = await startService();
  const client = await service.ready();
  const xattrs = (body: string) => withXattrs({ _sync: '{"rev":1}' }, body);
  const stored = await client.ask(write(setWithMeta, 'k', {}, xattrs('{}'), { datatype: Datatype.xattr }));
  assert.equal(stored.status, Status.success);
  assert.equal((await metaOf(client, 'k'))?.datatype, Datatype.json | Datatype.xattr);
  const withBody = await client.ask(
    write(deleteWithMeta, 'k', { rev: 2 }, xattrs('{}'), { datatype: Datatype.xattr }),
  );
  assert.equal(withBody.status, Status.invalidArguments);
  const deleted = await client.ask(
    write(deleteWithMeta, 'k', { rev: 2 }, xattrs(''), { datatype: Datatype.xattr }),
  );
  assert.equal(deleted.status, Status.success);
  const meta = await metaOf(client, 'k');
  assert.deepEqual([meta?.deleted, meta?.datatype], [1, 4]);
});

test('compressed values are accepted, also attributes of deletions', async () => {
  await using service = await startService();
  const client = await service.ready();
  const packed = (value: Buffer) => snappyCompress(value, 0, value.length);
  const xattrs = withXattrs({ _by: '"somebody"' }, '');
  const body = packed(Buffer.from('{"a":"compressed"}'));
  for (const opcode of [setWithMeta, addWithMeta]) {
    const name = `k${opcode}`;
    assert.equal(
      await statusOf(client.ask(write(opcode, name, {}, body, { datatype: Datatype.snappy }))),
      Status.success,
    );
    const read = await (
      await service.ready({ features: [Feature.xerror, Feature.json, Feature.collections] })
    ).ask({
      opcode: Opcode.get,
      key: key(name),
    });
    assert.equal(read.value.toString(), '{"a":"compressed"}');
  }
  const deletion = (value: Buffer) =>
    client.ask(
      write(deleteWithMeta, 'gone', { rev: 3 }, packed(value), {
        datatype: Datatype.snappy | Datatype.xattr,
      }),
    );
  assert.equal(await statusOf(deletion(withXattrs({ _by: '1' }, 'body'))), Status.invalidArguments);
  assert.equal(await statusOf(deletion(xattrs)), Status.success);
  const specs = Buffer.concat([Buffer.from([SubdocOpcode.get, PathFlag.xattr, 0, 3]), Buffer.from('_by')]);
  const seen = await client.ask({
    opcode: Opcode.subdocMultiLookup,
    key: key('gone'),
    extras: Buffer.from([DocFlag.accessDeleted]),
    value: specs,
  });
  assert.equal(seen.value.toString('latin1', 6), '"somebody"');
  const rubbish = write(deleteWithMeta, 'gone', { rev: 4 }, 'not snappy', {
    datatype: Datatype.snappy | Datatype.xattr,
  });
  assert.equal(await statusOf(client.ask(rubbish)), Status.invalidArguments);
});

test('quiet commands reply only to errors, users need the privilege, statistics count the writes', async () => {
  const { read, upsert, delete: remove, insert } = Privilege;
  const weak = { node: 0, buckets: { b: { privileges: read | upsert | remove | insert } } };
  const users = [aUser('admin', 'password', fullGrants()), aUser('weak', 'password', weak)];
  await using service = await startService(aDesired({ users }));
  const client = await service.ready();
  client.send(
    write(setWithMetaQuietly, 'k', { rev: 2 }),
    write(addWithMetaQuietly, 'k', {}),
    write(deleteWithMetaQuietly, 'k', { rev: 3 }),
  );
  const [refused, version] = [await client.next(), await client.ask({ opcode: Opcode.version })];
  assert.deepEqual([refused?.opcode, refused?.status], [addWithMetaQuietly, Status.keyExists]);
  assert.equal(version.opcode, Opcode.version);
  const other = await service.ready({ user: 'weak' });
  assert.equal((await other.ask(write(setWithMeta, 'k', { rev: 9 }))).status, Status.noAccess);
  client.send({ opcode: Opcode.stat });
  const figures = new Map<string, string>();
  for (let reply = await client.next(); reply && reply.key.length > 0; reply = await client.next())
    figures.set(reply.key.toString(), reply.value.toString());
  const counted = ['set_meta', 'del_meta', 'set_meta_res_fail'].map((name) =>
    figures.get(`ep_num_ops_${name}`),
  );
  assert.deepEqual(counted, ['1', '1', '1']);
});
