// Range scans over a real socket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullGrants } from '#auth/grants.ts';
import { Privilege } from '#auth/privileges.ts';
import { defaultManifest } from '#kv/bucket/manifest.ts';
import { realRandom } from '#ports/random.ts';
import { Datatype, Status } from '#wire/status.ts';
import {
  aBucket,
  aDesired,
  aUser,
  startService,
  type TestService,
} from '../../../test/support/data-service.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { turnLimits } from '../turn-clock.ts';

const key = (name: string, collection = 0) => Buffer.concat([Buffer.from([collection]), Buffer.from(name)]);
const base64 = (text: string) => Buffer.from(text).toString('base64');
const everything = { start: base64('a'), end: base64('zz') };

const create = (client: KvConnection, plan: unknown, datatype = 1) =>
  client.ask({ opcode: Opcode.rangeScanCreate, datatype, value: Buffer.from(JSON.stringify(plan)) });

function continueRequest(id: Buffer, items = 0, bytes = 0) {
  const extras = Buffer.alloc(28);
  id.copy(extras);
  extras.writeUInt32BE(items, 16);
  extras.writeUInt32BE(bytes, 24);
  return { opcode: Opcode.rangeScanContinue, extras };
}

/** Keys of a reply that holds keys only; they are short. */
function keysIn(value: Buffer): string[] {
  const keys: string[] = [];
  for (let at = 0; at < value.length; ) {
    const end = at + 1 + (value[at] as number);
    keys.push(value.toString('utf8', at + 1, end));
    at = end;
  }
  return keys;
}

async function scanKeys(client: KvConnection, plan: object): Promise<string[]> {
  const created = await create(client, { key_only: true, ...plan });
  if (created.status === Status.keyNotFound) return [];
  assert.equal(created.status, Status.success);
  assert.equal(created.value.length, 16);
  return remainingKeys(client, created.value);
}

async function remainingKeys(client: KvConnection, scan: Buffer): Promise<string[]> {
  const keys: string[] = [];
  // A slow machine returns some of the keys, and the rest when the scan is continued.
  for (let status: number = Status.rangeScanMore; status === Status.rangeScanMore; ) {
    const reply = await client.ask(continueRequest(scan));
    ({ status } = reply);
    assert.ok(status === Status.rangeScanMore || status === Status.rangeScanComplete);
    keys.push(...keysIn(reply.value));
  }
  return keys;
}

async function storing(service: TestService, names: readonly string[], collection = 0) {
  const client = await service.ready();
  for (const name of names) {
    const extras = Buffer.alloc(8);
    extras.writeUInt32BE(7);
    await client.ask({
      opcode: Opcode.set,
      key: key(name, collection),
      extras,
      value: Buffer.from(`{"n":"${name}"}`),
    });
  }
  return client;
}

test('a scan has the keys between two bounds in order, with or without the bounds', async () => {
  await using service = await startService();
  const client = await storing(service, ['d', 'b', 'a', 'c', 'bb']);
  const range = (fields: object) => scanKeys(client, { range: fields });
  assert.deepEqual(await range({ start: base64('b'), end: base64('c') }), ['b', 'bb', 'c']);
  assert.deepEqual(await range({ excl_start: base64('b'), excl_end: base64('c') }), ['bb']);
  assert.deepEqual(await range({ start: base64('b'), end: base64('b\u{10ffff}') }), ['b', 'bb']);
  assert.deepEqual(await range({ start: base64('x'), end: base64('y') }), []);
});

test('a scan returns the documents of one collection in several parts', async () => {
  // The time does not run during a continued scan.
  await using service = await startService(undefined, { clock: new ManualClock() });
  await storing(service, ['elsewhere']);
  const client = await storing(service, ['a', 'b', 'c'], 8);
  const { value: id } = await create(client, { collection: '8', range: everything });
  const first = await client.ask(continueRequest(id, 2));
  assert.equal(first.status, Status.rangeScanMore);
  assert.deepEqual([...first.extras], [0, 0, 0, 1]);
  assert.equal(first.value.readUInt32BE(0), 7);
  const document = await client.ask({ opcode: Opcode.get, key: key('a', 8) });
  assert.equal(first.value.readBigUInt64BE(16), document.cas);
  assert.deepEqual([first.value[24], first.value[25], first.value.toString('utf8', 26, 27)], [1, 1, 'a']);
  assert.equal(first.value.toString('utf8', 28, 28 + (first.value[27] as number)), '{"n":"a"}');
  const rest = await client.ask(continueRequest(id, 0, 1));
  assert.equal(rest.status, Status.rangeScanComplete);
  assert.equal((await client.ask(continueRequest(id))).status, Status.keyNotFound);
});

test('a scan omits documents that were deleted after it was created', async () => {
  await using service = await startService();
  const client = await storing(service, ['a', 'b']);
  const { value: id } = await create(client, { key_only: true, range: everything });
  await client.ask({ opcode: Opcode.delete, key: key('a') });
  assert.deepEqual(await remainingKeys(client, id), ['b']);
});

test('a continued scan ends at its time limit also if all documents have been deleted since it began', async () => {
  // Each reading of the clock takes a millisecond.
  const clock = new (class extends ManualClock {
    private readings = 0;
    override monotonicMs = (): number => super.monotonicMs() + this.readings++;
  })();
  await using service = await startService(undefined, { clock });
  const names = Array.from({ length: 100 }, (_, i) => `k${i}`);
  const client = await storing(service, names);
  const created = await create(client, { key_only: true, range: everything });
  for (const name of names)
    assert.equal((await client.ask({ opcode: Opcode.delete, key: key(name) })).status, 0);
  let replies = 1;
  for (; ; replies++) {
    const { status, value } = await client.ask(continueRequest(created.value));
    assert.equal(value.length, 0);
    if (status === Status.rangeScanComplete) break;
    assert.equal(status, Status.rangeScanMore);
  }
  assert.ok(replies > 10, `${replies} replies`);
});

test('scans that a client sends at once take several turns of the thread', async () => {
  const clock = new (class extends ManualClock {
    turns = 0;
    override soon(callback: () => void): void {
      this.turns++;
      super.soon(callback);
    }
  })();
  // Each scan takes an identifier, and with it the time of a turn.
  const bytes = (count: number): Buffer => {
    if (count === 16) clock.advance(turnLimits.turnMs);
    return realRandom.bytes(count);
  };
  const desired = aDesired({ buckets: [aBucket('b', { type: 'ephemeral' })] });
  await using service = await startService(desired, { clock, random: { ...realRandom, bytes } });
  const client = await service.ready();
  const stored = { opcode: Opcode.set, key: key('k'), extras: Buffer.alloc(8) };
  assert.equal((await client.ask(stored)).status, Status.success);
  const count = 50;
  const before = clock.turns;
  const value = Buffer.from(JSON.stringify({ range: everything }));
  client.send(
    ...Array.from({ length: count }, () => ({
      opcode: Opcode.rangeScanCreate,
      datatype: Datatype.json,
      value,
    })),
  );
  for (let i = 0; i < count; i++) assert.equal((await client.next())?.status, Status.success);
  assert.equal((await client.ask({ opcode: Opcode.noop })).status, Status.success);
  assert.ok(clock.turns - before >= count - 5, `${clock.turns - before} turns`);
});

test('a sample has the same documents for the same seed', async () => {
  await using service = await startService();
  const client = await storing(
    service,
    Array.from({ length: 40 }, (_, i) => `k${i}`),
  );
  const sample = (seed: number, samples = 5) => scanKeys(client, { sampling: { seed, samples } });
  const first = await sample(1);
  assert.equal(first.length, 5);
  assert.deepEqual(await sample(1), first);
  assert.notDeepEqual(await sample(2), first);
  assert.equal((await sample(2, 100)).length, 40);
});

test('a scan does not show the CAS of a lock, with which another client could unlock the document', async () => {
  await using service = await startService();
  const client = await storing(service, ['a']);
  const casOf = async () => {
    const { value: id } = await create(client, { range: everything });
    return (await client.ask(continueRequest(id))).value.readBigUInt64BE(16);
  };
  const stored = await client.ask({ opcode: Opcode.get, key: key('a') });
  assert.equal(await casOf(), stored.cas);
  const lock = await client.ask({ opcode: Opcode.getAndLock, key: key('a') });
  assert.equal(lock.status, Status.success);
  assert.equal(await casOf(), 2n ** 64n - 1n);
});

test('a scan needs the snapshot that the client names', async () => {
  await using service = await startService(
    aDesired({ buckets: [aBucket('b', { manifest: defaultManifest })] }),
  );
  const client = await storing(service, ['a', 'b']);
  const log = await client.ask({ opcode: Opcode.getFailoverLog });
  const vb_uuid = log.value.readBigUInt64BE(0).toString();
  const at = async (snapshot: object) => {
    const snapshot_requirements = { vb_uuid, timeout_ms: 10, ...snapshot };
    return (await create(client, { range: everything, snapshot_requirements })).status;
  };
  assert.equal(await at({ seqno: 2 }), Status.success);
  assert.equal(await at({ seqno: 3 }), Status.outOfRange);
  const signed = log.value.readBigInt64BE(0).toString();
  assert.equal(await at({ seqno: 2, vb_uuid: signed }), Status.success);
  assert.equal(await at({ seqno: 2, vb_uuid: '-1' }), Status.vbUuidNotEqual);
  assert.equal(await at({ seqno: 2, vb_uuid: '1' }), Status.vbUuidNotEqual);
  assert.equal(await at({ seqno: 1, seqno_exists: true }), Status.success);
  await client.ask({ opcode: Opcode.set, key: key('a'), extras: Buffer.alloc(8) });
  assert.equal(await at({ seqno: 1, seqno_exists: true }), Status.notStored);
});

test('invalid scans are refused, and users without the privilege', async () => {
  const grants = { node: 0, buckets: { b: { privileges: Privilege.read } } };
  const users = [aUser('admin', 'password', fullGrants()), aUser('weak', 'password', grants)];
  await using service = await startService(aDesired({ users }));
  const client = await storing(service, ['a']);
  const { end } = everything;
  const plans = [
    {},
    [],
    { range: everything, sampling: { samples: 1 } },
    { range: { end } },
    { range: { start: 'not base64!', end } },
    { range: { start: 'YQ==', excl_start: 'YQ==', end } },
    { sampling: { samples: 0 } },
    { sampling: { samples: 1.5 } },
    { collection: 'xyz', range: everything },
    { range: everything, snapshot_requirements: { vb_uuid: 1, seqno: 1 } },
  ];
  for (const plan of plans) assert.equal((await create(client, plan)).status, Status.invalidArguments);
  assert.equal((await create(client, { range: everything }, 0)).status, Status.invalidArguments);
  const unknown = await create(client, { collection: '77', range: everything });
  assert.equal(unknown.status, Status.unknownCollection);
  const weak = await service.ready({ user: 'weak' });
  assert.equal((await create(weak, { range: everything })).status, Status.noAccess);
});

test('a scan that was cancelled cannot be continued', async () => {
  await using service = await startService();
  const client = await storing(service, ['a']);
  const { value: id } = await create(client, { range: everything });
  assert.equal((await client.ask({ opcode: Opcode.rangeScanCancel, extras: id })).status, Status.success);
  assert.equal((await client.ask({ opcode: Opcode.rangeScanCancel, extras: id })).status, Status.keyNotFound);
  assert.equal((await client.ask(continueRequest(id))).status, Status.keyNotFound);
});
