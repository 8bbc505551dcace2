// Sessions over a real socket: features, authentication, bucket, privileges.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { fullGrants } from '#auth/grants.ts';
import { realKdf } from '#auth/kdf.host.ts';
import type { Kdf } from '#auth/kdf.ts';
import { Privilege } from '#auth/privileges.ts';
import { deferred } from '#base/deferred.ts';
import { Feature } from '#wire/features.ts';
import type { RequestParts } from '#wire/output.ts';
import { Datatype, Status } from '#wire/status.ts';
import { makeCertificate } from '../../../test/support/certificate.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import {
  aBucket,
  aDesired,
  aUser,
  persistToMajority,
  startService,
} from '../../../test/support/data-service.ts';
import { DcpClient } from '../../../test/support/dcp-client.ts';
import { KvConnection } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const key = (name: string, collection = 0) => Buffer.concat([Buffer.from([collection]), Buffer.from(name)]);
const get = (name: string, collection = 0): RequestParts => ({
  opcode: Opcode.get,
  key: key(name, collection),
});
const set = (name: string, collection = 0): RequestParts => ({
  opcode: Opcode.set,
  key: key(name, collection),
  extras: Buffer.alloc(8),
  value: Buffer.from('{}'),
});
const context = (value: Buffer): string =>
  (JSON.parse(value.toString()) as { error: { context: string } }).error.context;

test('known features are granted in the requested order, and replaced at the next HELLO', async () => {
  await using service = await startService();
  const client = await service.connect();
  const granted = await client.hello([Feature.collections, 0x55, Feature.xerror, Feature.tcpNoDelay]);
  assert.equal(granted.value.toString('hex'), '001200070003');
  assert.equal((await client.hello([Feature.clustermapPush])).status, Status.invalidArguments);
  assert.equal((await client.hello([])).value.length, 0);
  assert.equal(
    (await client.ask({ opcode: Opcode.hello, value: Buffer.alloc(3) })).status,
    Status.invalidArguments,
  );
});

test('a client logs in with every mechanism, and gets a proof that the node knows its user', async () => {
  await using service = await startService(aDesired({ users: [aUser('a,b=c', 'pä ss')] }));
  const client = await service.connect();
  await client.hello(usualFeatures);
  const listed = await client.ask({ opcode: Opcode.saslListMechanisms });
  assert.equal(listed.value.toString(), 'SCRAM-SHA512 SCRAM-SHA256 SCRAM-SHA1 PLAIN');
  for (const mechanism of ['SCRAM-SHA512', 'SCRAM-SHA256', 'SCRAM-SHA1']) {
    const { reply, isProven } = await client.scram(mechanism, 'a,b=c', 'pä ss');
    assert.deepEqual([reply.status, isProven], [Status.success, true], mechanism);
    assert.equal((await client.scram(mechanism, 'a,b=c', 'wrong')).reply.status, Status.authError);
    assert.equal((await client.select('b')).status, Status.noAccess);
  }
  assert.equal((await client.plain('a,b=c', 'pä ss')).status, Status.success);
  assert.equal((await client.plain('a,b=c', 'pä ss')).status, Status.success);
  assert.equal((await client.plain('a,b=c', 'wrong')).status, Status.authError);
  const first = Buffer.from('n,,n=nobody,r=abc');
  for (const unknown of ['X', 'constructor', '__proto__']) {
    const begin = { opcode: Opcode.saslAuth, key: Buffer.from(unknown), value: first };
    assert.equal((await client.ask(begin)).status, Status.authError, unknown);
  }
  assert.equal(
    (await client.ask({ opcode: Opcode.saslStep, key: Buffer.from('SCRAM-SHA1') })).status,
    Status.invalidArguments,
  );
});

test('an unknown user gets the same challenge each time, and fails at the final message', async () => {
  await using service = await startService();
  const client = await service.connect();
  const first = {
    opcode: Opcode.saslAuth,
    key: Buffer.from('SCRAM-SHA256'),
    value: Buffer.from('n,,n=nobody,r=abc'),
  };
  const salt = async () => /,s=(.*),i=10$/.exec((await client.ask(first)).value.toString())?.[1];
  const salts = [await salt(), await salt()];
  assert.equal(salts[0], salts[1]);
  assert.equal((await client.scram('SCRAM-SHA256', 'nobody', 'x')).reply.status, Status.authError);
  assert.equal((await client.plain('nobody', 'x')).status, Status.authError);
});

test('users without privileges do not learn whether a bucket of any name exists', async () => {
  const users = [aUser('nobody', 'password', { node: 0, buckets: {} })];
  await using service = await startService(aDesired({ users }));
  const client = await service.connect();
  await client.hello(usualFeatures);
  await client.plain('nobody', 'password');
  for (const name of ['b', 'missing', 'constructor', '__proto__', 'toString'])
    assert.equal((await client.select(name)).status, Status.noAccess, name);
});

test('an unknown user gets the same salt after a restart, as real users do', async () => {
  const saltAfterStart = async (name: string, secret: number): Promise<string | undefined> => {
    await using service = await startService(aDesired(), { loginSecret: Buffer.alloc(32, secret) });
    const client = await service.connect();
    const value = Buffer.from(`n,,n=${name},r=nonce`);
    const challenge = await client.ask({ opcode: Opcode.saslAuth, key: Buffer.from('SCRAM-SHA512'), value });
    return /,s=([^,]+),/.exec(challenge.value.toString())?.[1];
  };
  for (const name of ['admin', 'nobody']) {
    const salt = await saltAfterStart(name, 1);
    assert.ok(salt);
    assert.equal(await saltAfterStart(name, 1), salt, name);
  }
  assert.notEqual(await saltAfterStart('nobody', 2), await saltAfterStart('nobody', 1));
});

test('a login fails if the password changes or the user is deleted during it', async () => {
  await using service = await startService();
  const client = await service.connect();
  await client.hello(usualFeatures);
  const begun = await client.beginScram('SCRAM-SHA256', 'admin', 'password');
  await service.service.apply(aDesired({ users: [aUser('admin', 'another')] }));
  assert.equal((await begun.finish()).reply.status, Status.authError);
  assert.equal((await client.select('b')).status, Status.noAccess);
});

test('a PLAIN login succeeds only if its user still exists with the same password at the end', async () => {
  const begun = deferred<void>();
  const derived = deferred<void>();
  const pbkdf2: Kdf['pbkdf2'] = async (...args) => {
    begun.resolve();
    await derived.promise;
    return await realKdf.pbkdf2(...args);
  };
  await using service = await startService(aDesired(), { kdf: { ...realKdf, pbkdf2 } });
  const client = await service.connect();
  await client.hello(usualFeatures);
  client.send({
    opcode: Opcode.saslAuth,
    key: Buffer.from('PLAIN'),
    value: Buffer.from('\0admin\0password'),
  });
  await begun.promise;
  await service.service.apply(aDesired({ users: [aUser('admin', 'another')] }));
  derived.resolve();
  assert.equal((await client.next())?.status, Status.authError);
  assert.equal((await client.select('b')).status, Status.noAccess);
});

test('malformed first messages are refused', async () => {
  await using service = await startService();
  const client = await service.connect();
  for (const text of [
    '',
    'n,,',
    'n,,n=a',
    'p=tls,,n=a,r=b',
    'n,,n=a=b,r=c',
    'n,,n=a,r=',
    `n,,n=${'a'.repeat(129)},r=c`,
  ]) {
    const reply = await client.ask({
      opcode: Opcode.saslAuth,
      key: Buffer.from('SCRAM-SHA512'),
      value: Buffer.from(text),
    });
    assert.equal(reply.status, Status.invalidArguments, text);
  }
  assert.equal(
    (await client.ask({ opcode: Opcode.saslAuth, key: Buffer.from('PLAIN'), value: Buffer.from('x') }))
      .status,
    Status.invalidArguments,
  );
});

test('commands require a login, then a bucket, and report which is missing', async () => {
  await using service = await startService();
  const client = await service.connect();
  await client.hello(usualFeatures);
  const unauthenticated = await client.ask(get('k'));
  assert.deepEqual(
    [unauthenticated.status, context(unauthenticated.value)],
    [Status.noAccess, 'Not authenticated'],
  );
  await client.plain('admin', 'password');
  assert.equal((await client.ask(get('k'))).status, Status.noBucket);
  assert.equal((await client.select('missing')).status, Status.noAccess);
  assert.equal((await client.select('b')).status, Status.success);
  assert.equal((await client.ask(get('k'))).status, Status.keyNotFound);
  assert.equal((await client.select('@no bucket@')).status, Status.success);
  assert.equal((await client.ask(get('k'))).status, Status.noBucket);
  assert.equal((await client.ask({ opcode: 0x56 })).status, Status.unknownCommand);
});

test('the connection of a client without extended errors is closed if no older status says the same', async () => {
  await using service = await startService();
  const client = await service.connect();
  client.send(get('k'));
  assert.equal(await client.next(), null);
  const other = await service.ready({ features: [] });
  await other.ask({ ...set('k'), key: Buffer.from('k') });
  await other.ask({ opcode: Opcode.getAndLock, key: Buffer.from('k') });
  assert.equal((await other.ask({ ...set('k'), key: Buffer.from('k') })).status, Status.keyExists);
  assert.equal(
    (await other.ask({ opcode: Opcode.getAndLock, key: Buffer.from('k') })).status,
    Status.temporaryFailure,
  );
});

test('a client gets ids of collections and scopes, and the manifest', async () => {
  await using service = await startService();
  const client = await service.ready();
  const { getCollectionId, getScopeId } = Opcode;
  const id = async (opcode: number, name: string) => {
    const reply = await client.ask({ opcode, value: Buffer.from(name) });
    return reply.status === 0
      ? [reply.extras.readBigUInt64BE(0), reply.extras.readUInt32BE(8)]
      : reply.status;
  };
  assert.deepEqual(await id(getCollectionId, 'shop.orders'), [2n, 8]);
  assert.deepEqual(await id(getCollectionId, '_default.'), [2n, 0]);
  assert.deepEqual(await id(getCollectionId, '.'), [2n, 0]);
  assert.equal(await id(getCollectionId, 'shop.nope'), Status.unknownCollection);
  assert.equal(await id(getCollectionId, 'nope.orders'), Status.unknownScope);
  assert.equal(await id(getCollectionId, 'orders'), Status.invalidArguments);
  assert.equal(await id(getCollectionId, 'shop.or ders'), Status.invalidArguments);
  for (const n of ['sh op', 'a'.repeat(600)]) assert.equal(await id(getScopeId, n), Status.invalidArguments);
  assert.deepEqual(await id(getScopeId, 'shop'), [2n, 8]);
  const unknown = await client.ask(get('k', 0x20));
  assert.equal(unknown.status, Status.unknownCollection);
  assert.equal((JSON.parse(unknown.value.toString()) as { manifest_uid: string }).manifest_uid, '2');
  const manifest = JSON.parse((await client.ask({ opcode: Opcode.getManifest })).value.toString()) as {
    scopes: object[];
  };
  assert.equal(manifest.scopes.length, 3);
  assert.equal(
    (await client.ask({ opcode: Opcode.get, key: Buffer.from([1, 65]) })).status,
    Status.invalidArguments,
  );
  assert.equal(
    (await client.ask({ opcode: Opcode.get, key: Buffer.from([0]) })).status,
    Status.invalidArguments,
  );
  assert.equal(
    (await client.ask({ opcode: Opcode.get, key: key('k'.repeat(251)) })).status,
    Status.invalidArguments,
  );
  assert.equal(
    (await client.ask({ opcode: Opcode.get, key: key('k'.repeat(250)) })).status,
    Status.keyNotFound,
  );
});

test('a refusal names every privilege that the command requires and the user lacks', async () => {
  const buckets = { b: { privileges: Privilege.rangeScan } };
  await using service = await startService(
    aDesired({ users: [aUser('clerk', 'password', { node: 0, buckets })] }),
  );
  const client = await service.ready({ user: 'clerk' });
  const getAndTouch = { opcode: Opcode.getAndTouch, key: key('k'), extras: Buffer.alloc(4) };
  const plan = '{"range":{"start":"YQ==","end":"eg=="},"include_xattrs":true}';
  const scan = { opcode: Opcode.rangeScanCreate, datatype: Datatype.json, value: Buffer.from(plan) };
  assert.equal(context((await client.ask(getAndTouch)).value), 'Requires privilege: Read and Upsert');
  assert.equal(context((await client.ask(scan)).value), 'Requires privilege: SystemXattrRead');
});

test('the grants of bucket, scope and collection determine what a user sees and may do', async () => {
  const { read, upsert } = Privilege;
  const buckets = {
    b: { privileges: 0, scopes: { '8': { privileges: read, collections: { '8': upsert } } } },
  };
  const user = aUser('clerk', 'password', { node: 0, buckets });
  await using service = await startService(aDesired({ users: [user] }));
  const client = await service.ready({ user: 'clerk' });
  assert.equal((await client.ask(set('k', 8))).status, Status.success);
  assert.equal((await client.ask(get('k', 8))).status, Status.success);
  const refused = await client.ask(set('k', 9));
  assert.deepEqual([refused.status, context(refused.value)], [Status.noAccess, 'Requires privilege: Upsert']);
  assert.equal((await client.ask(get('k', 9))).status, Status.keyNotFound);
  assert.equal((await client.ask(get('k', 0))).status, Status.unknownCollection);
  const manifest = JSON.parse((await client.ask({ opcode: Opcode.getManifest })).value.toString()) as {
    scopes: { name: string }[];
  };
  assert.deepEqual(
    manifest.scopes.map((scope) => scope.name),
    ['shop'],
  );
  assert.equal(
    (await client.ask({ opcode: Opcode.getCollectionId, value: Buffer.from('_default._default') })).status,
    Status.unknownScope,
  );
  assert.equal(
    (await client.ask({ opcode: Opcode.verbosity, extras: Buffer.alloc(4) })).status,
    Status.noAccess,
  );
  assert.equal((await client.ask({ opcode: Opcode.stat })).status, Status.noAccess);
});

test('a system collection requires privileges of its own', async () => {
  const grants = (privileges: number) => ({ node: 0, buckets: { b: { privileges } } });
  const { read, upsert, systemCollectionLookup: lookup, systemCollectionMutation: mutation } = Privilege;
  const users = [
    aUser('plain', 'password', grants(read | upsert)),
    aUser('looker', 'password', grants(read | upsert | lookup)),
    aUser('writer', 'password', grants(read | upsert | lookup | mutation)),
  ];
  await using service = await startService(aDesired({ users }));
  const outcomes = [];
  for (const { name } of users) {
    const client = await service.ready({ user: name });
    outcomes.push([(await client.ask(set('k', 10))).status, (await client.ask(get('k', 10))).status]);
  }
  assert.deepEqual(outcomes, [
    [Status.unknownCollection, Status.unknownCollection],
    [Status.noAccess, Status.keyNotFound],
    [Status.success, Status.success],
  ]);
});

test('privileges change at once; a deleted user or one with a new password gets AUTH_STALE and is disconnected', async () => {
  await using service = await startService();
  const client = await service.ready();
  assert.equal((await client.ask(set('k'))).status, Status.success);
  const reader = { node: 0, buckets: { b: { privileges: Privilege.read } } };
  await service.service.apply(aDesired({ users: [aUser('admin', 'password', reader)] }));
  assert.equal((await client.ask(set('k'))).status, Status.noAccess);
  assert.equal((await client.ask(get('k'))).status, Status.success);
  await service.service.apply(aDesired({ users: [aUser('admin', 'changed')] }));
  assert.equal((await client.ask(get('k'))).status, Status.authStale);
  assert.equal(await client.next(), null);
});

test('only the connections that use a removed bucket are closed', async () => {
  const both = [aBucket('b'), aBucket('c')];
  await using service = await startService(aDesired({ buckets: both }));
  const onB = await service.ready();
  const onC = await service.ready();
  assert.equal((await onC.ask({ opcode: Opcode.listBuckets })).value.toString(), 'b c');
  await onC.select('c');
  await service.service.apply(aDesired({ buckets: [both[1]!] }));
  assert.equal(await onB.next(), null);
  assert.equal((await onC.ask(get('k'))).status, Status.keyNotFound);
});

test('statistics come by group, ended by an empty packet', async () => {
  await using service = await startService();
  const client = await service.ready();
  await client.ask({ ...set('k'), framing: persistToMajority });
  const group = async (name: string) => {
    const figures: Record<string, string> = {};
    client.send({ opcode: Opcode.stat, key: Buffer.from(name) });
    for (let reply = await client.next(); reply; reply = await client.next()) {
      if (reply.status !== 0) return reply.status;
      if (reply.key.length === 0) return figures;
      figures[reply.key.toString()] = reply.value.toString();
    }
    return null;
  };
  assert.equal(((await group('')) as Record<string, string>)['curr_items'], '1');
  // Before the document: two scopes and three collections.
  const seqnos = (await group('vbucket-seqno 0')) as Record<string, string>;
  assert.deepEqual([seqnos['vb_0:high_seqno'], seqnos['vb_0:last_persisted_seqno']], ['6', '6']);
  assert.equal(Object.keys((await group('vbucket')) as object).length, 1024);
  assert.equal(((await group('failovers 0')) as Record<string, string>)['vb_0:num_entries'], '1');
  assert.equal(((await group('collections')) as Record<string, string>)['0x0:0x0:items'], '1');
  const streams = await new DcpClient(await service.ready()).open('kind:name', 1, {
    connection_buffer_size: '1000000',
  });
  await streams.stream(0);
  await streams.reach([[0, 6]]);
  const dcp = (await group('dcp')) as Record<string, string>;
  assert.equal(dcp['eq_dcpq:kind:name:num_streams'], '1');
  assert.equal(dcp['eq_dcpq:kind:name:unacked_bytes'], `${streams.unacked}`);
  assert.equal(dcp['eq_dcpq:kind:name:stream_0_last_sent_seqno'], '6');
  assert.equal(dcp['ep_dcp_items_remaining'], '0');
  const totals = (await group('dcpagg :')) as Record<string, string>;
  assert.deepEqual([totals['kind:count'], totals[':total:items_sent']], ['1', '6']);
  const takeover = (await group('dcp-vbtakeover 0 kind:name')) as Record<string, string>;
  assert.deepEqual([takeover['status'], takeover['estimate']], ['in-memory', '0']);
  const absent = (await group('dcp-vbtakeover 1 kind:name')) as Record<string, string>;
  assert.equal(absent['status'], 'does_not_exist');
  assert.equal(await group('dcp-vbtakeover 0'), Status.invalidArguments);
  assert.equal(((await group('key k 0')) as Record<string, string>)['key_is_dirty'], 'false');
  assert.equal(((await group('collections-byid 0x8')) as Record<string, string>)['0x8:0x8:name'], 'orders');
  assert.equal(((await group('scopes shop')) as Record<string, string>)['0x8:collections'], '2');
  assert.equal(((await group('scopes-byid 8')) as Record<string, string>)['0x8:name'], 'shop');
  assert.equal(((await group('prev-vbucket 3')) as Record<string, string>)['vb_3'], 'active');
  assert.equal(await group('collections shop.none'), Status.unknownCollection);
  assert.equal(await group('scopes none'), Status.unknownScope);
  assert.equal(await group('no-such-group'), Status.keyNotFound);
  assert.equal(await group('constructor'), Status.keyNotFound);
  assert.equal(await group('vbucket-seqno x'), Status.invalidArguments);
});

test('a client that sends messages of servers loses its connection', async () => {
  await using service = await startService();
  for (const magic of [0x81, 0x82, 0x18]) {
    const client = await service.ready();
    client.send({ opcode: Opcode.noop, magic });
    assert.equal(await client.next(), null);
  }
});

test('a client with tracing gets the duration in each reply', async () => {
  await using service = await startService();
  const client = await service.ready({ features: [...usualFeatures, Feature.tracing] });
  const reply = await client.ask(get('k'));
  assert.deepEqual([reply.magic, reply.framing.length, reply.framing[0]], [0x18, 3, 2]);
});

test('a client gets the version and the error map, and QUIT closes its connection', async () => {
  await using service = await startService();
  const client = await service.connect();
  assert.equal((await client.ask({ opcode: Opcode.version })).value.toString(), '7.1.0-test');
  const map = await client.ask({ opcode: Opcode.getErrorMap, value: Buffer.from([0, 2]) });
  assert.equal((JSON.parse(map.value.toString()) as { version: number }).version, 2);
  assert.equal(
    (await client.ask({ opcode: Opcode.getErrorMap, value: Buffer.from([2]) })).status,
    Status.invalidArguments,
  );
  assert.equal((await client.ask({ opcode: Opcode.quit })).status, Status.success);
  assert.equal(await client.next(), null);
  const quiet = await service.connect();
  quiet.send({ opcode: Opcode.quitQuietly });
  assert.equal(await quiet.next(), null);
});

test('TLS is served with the last certificate', async () => {
  const [first, second] = [await makeCertificate(), await makeCertificate()];
  const tls = { minVersion: 'TLSv1.2', honorCipherOrder: true } as const;
  await using service = await startService(aDesired({ tls: { ...tls, ...first } }));
  const client = await KvConnection.open(service.tlsPort, { ca: first.certificate });
  assert.equal((await client.plain('admin', 'password')).status, Status.success);
  await service.service.apply(aDesired({ tls: { ...tls, ...second } }));
  assert.equal((await client.ask({ opcode: Opcode.noop })).status, Status.success);
  await assert.rejects(KvConnection.open(service.tlsPort, { ca: first.certificate }));
  const later = await KvConnection.open(service.tlsPort, { ca: second.certificate });
  assert.equal((await later.ask({ opcode: Opcode.noop })).status, Status.success);
  client.close();
  later.close();
});

test('a TLS connection whose address leaves the allowlist during the handshake is refused', async () => {
  const certificate = await makeCertificate();
  const tls = { minVersion: 'TLSv1.2', honorCipherOrder: true, ...certificate } as const;
  await using service = await startService(aDesired({ tls }));
  const socket = connect({ port: service.tlsPort, host: '127.0.0.1' });
  await once(socket, 'connect');
  await service.service.apply(aDesired({ tls, clients: ['10.0.0.1'] }));
  const secure = connectTls({ socket, ca: certificate.certificate, checkServerIdentity: () => undefined });
  secure.on('secureConnect', () => secure.write(Buffer.alloc(24, 0x80)));
  secure.on('error', () => {}); // the node is expected to close the connection
  secure.resume();
  await once(secure, 'close', { signal: AbortSignal.timeout(60_000) });
  assert.equal((await service.service.report()).traffic.connections, 0);
});

test('clients are served through public socket events as well', async () => {
  await using service = await startService(aDesired({ users: [aUser('admin', 'password', fullGrants())] }), {
    withoutSharedBuffer: true,
  });
  const client = await service.ready();
  assert.equal((await client.ask(set('k'))).status, Status.success);
  assert.equal((await client.ask(get('k'))).value.toString(), '{}');
});
