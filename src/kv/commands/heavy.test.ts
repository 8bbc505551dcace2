// Heavy work: another thread does it, other clients are served meanwhile, and the results are the same as in the data thread.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Deferred, deferred } from '#base/deferred.ts';
import { realClock } from '#ports/clock.ts';
import { Feature } from '#wire/features.ts';
import type { RequestParts } from '#wire/output.ts';
import { packedBytesMax, snappyCompress } from '#wire/snappy.ts';
import { Status } from '#wire/status.ts';
import { DocFlag, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import { aDesired, aUser, persistToMajority, startService } from '../../../test/support/data-service.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { type HeavyPerformer, HeavyQueue } from '../heavy/heavy-queue.ts';
import { HeavyThread } from '../heavy/hosts/heavy-thread.ts';
import type { HeavyJob, HeavyResult } from '../heavy/jobs.ts';
import { perform } from '../heavy/perform.ts';
import { crc32c } from '../value/crc32c.ts';

const key = (name: string) => Buffer.from(`\0${name}`);
const get = (name: string): RequestParts => ({ opcode: Opcode.get, key: key(name) });
const set = (name: string, value: Buffer, datatype = 0): RequestParts => ({
  opcode: Opcode.set,
  key: key(name),
  extras: Buffer.alloc(8),
  value,
  datatype,
});
const spec = (opcode: number, path: string, flags = 0) =>
  Buffer.concat([Buffer.from([opcode, flags, 0, path.length]), Buffer.from(path)]);
const change = (opcode: number, path: string, value: string, flags = 0) =>
  Buffer.concat([
    Buffer.from([opcode, flags, 0, path.length, 0, 0, 0, value.length]),
    Buffer.from(path + value),
  ]);
const lookup = (name: string, ...specs: Buffer[]): RequestParts => ({
  opcode: Opcode.subdocMultiLookup,
  key: key(name),
  value: Buffer.concat(specs),
});
const mutation = (name: string, ...specs: Buffer[]): RequestParts => ({
  opcode: Opcode.subdocMultiMutation,
  key: key(name),
  value: Buffer.concat(specs),
});

const items = Array.from({ length: 30_000 }, (_, id) => ({ id, name: `name ${id}` }));
const document = Buffer.from(JSON.stringify({ items, n: 1, last: 'here' }));

/** Runs jobs one at a time, each only when the test releases it. */
class Gate implements HeavyPerformer {
  readonly jobs: { job: HeavyJob; answer: Deferred<HeavyResult> }[] = [];
  private arrived: Deferred<void> = deferred();

  perform(job: HeavyJob): Promise<HeavyResult> {
    const answer = deferred<HeavyResult>();
    this.jobs.push({ job, answer });
    this.arrived.resolve();
    return answer.promise;
  }

  /** Runs the next job once there is one. */
  async runNext(): Promise<void> {
    while (this.jobs.length === 0) {
      this.arrived = deferred();
      await this.arrived.promise;
    }
    const { answer, job } = this.jobs.shift()!;
    answer.resolve(perform(job));
  }

  async waitForOne(): Promise<void> {
    while (this.jobs.length === 0) {
      this.arrived = deferred();
      await this.arrived.promise;
    }
  }

  stop = async (): Promise<void> => {};
}

async function storeHeavy(gate: Gate, client: KvConnection, name: string, value: Buffer): Promise<void> {
  client.send(set(name, value));
  await gate.runNext();
  assert.equal((await client.next())?.status, 0);
}

test('other clients are served while a large document is looked up', async () => {
  const gate = new Gate();
  await using service = await startService(undefined, { heavy: gate });
  const [client, other] = [await service.ready(), await service.ready()];
  await storeHeavy(gate, client, 'large', document);
  await other.ask(set('small', Buffer.from('1')));
  client.send(
    lookup(
      'large',
      spec(SubdocOpcode.getCount, 'items'),
      spec(SubdocOpcode.get, 'last'),
      spec(SubdocOpcode.get, 'items[29999].id'),
    ),
  );
  client.send(get('small'));
  await gate.waitForOne();
  assert.equal((await other.ask(get('small'))).value.toString(), '1');
  await gate.runNext();
  const reply = await client.next();
  assert.deepEqual([reply?.opcode, reply?.status], [Opcode.subdocMultiLookup, 0]);
  const cas = (await other.ask(get('large'))).cas;
  assert.equal(reply?.cas, cas);
  assert.deepEqual(
    reply?.value,
    Buffer.concat(
      ['30000', '"here"', '29999'].map((text) =>
        Buffer.from(`\0\0\0\0\0${String.fromCharCode(text.length)}${text}`),
      ),
    ),
  );
  assert.equal(
    (await client.next())?.opcode,
    Opcode.get,
    'the connection’s next request is answered after it',
  );
});

test('a client with unordered execution gets other replies first', async () => {
  const gate = new Gate();
  await using service = await startService(undefined, { heavy: gate });
  const client = await service.ready({ features: [...usualFeatures, Feature.unorderedExecution] });
  await storeHeavy(gate, client, 'large', document);
  client.send(lookup('large', spec(SubdocOpcode.getCount, 'items')), get('missing'), {
    ...lookup('large', spec(SubdocOpcode.getCount, 'items')),
    opaque: 9,
  });
  assert.equal((await client.next())?.opcode, Opcode.get);
  await gate.runNext();
  assert.equal((await client.next())?.opcode, Opcode.subdocMultiLookup);
  await gate.runNext();
  assert.equal((await client.next())?.opaque, 9, 'two requests of a connection were in heavy work at once');
});

test('a request that waits for other heavy work of its connection is counted once', async () => {
  // The choice of the bucket, a write and three lookups.
  const limits = { connections: Infinity, operations: 5, ingressMib: Infinity, egressMib: Infinity };
  await using service = await startService(aDesired({ users: [{ ...aUser('admin', 'password'), limits }] }));
  const client = await service.ready({ features: [...usualFeatures, Feature.unorderedExecution] });
  await client.ask(set('large', document));
  client.send(...Array.from({ length: 3 }, () => lookup('large', spec(SubdocOpcode.getCount, 'items'))));
  for (let reply = 0; reply < 3; reply++) assert.equal((await client.next())?.status, Status.success);
  assert.equal((await client.ask(get('large'))).status, Status.rateLimitedCommands);
  const { gets, getHits } = (await service.service.report()).buckets[0]!;
  assert.deepEqual([gets, getHits], [3, 3]);
});

test('a lookup whose large document comes from disk is answered while other heavy work of its connection runs', async () => {
  const gate = new Gate();
  await using service = await startService(undefined, { heavy: gate });
  const client = await service.ready({ features: [...usualFeatures, Feature.unorderedExecution] });
  client.send({ ...set('onDisk', document), framing: persistToMajority });
  await gate.runNext();
  assert.equal((await client.next())?.status, Status.success);
  await storeHeavy(gate, client, 'large', document);
  assert.equal((await client.ask({ opcode: Opcode.evictKey, key: key('onDisk') })).status, Status.success);
  client.send(
    { ...lookup('onDisk', spec(SubdocOpcode.getCount, 'items')), opaque: 8 },
    { ...lookup('large', spec(SubdocOpcode.getCount, 'items')), opaque: 9 },
  );
  await eventually(async () => {
    const { nonResident } = (await service.service.report()).buckets[0]!;
    assert.equal(nonResident, 0, 'the document is not read from disk');
  });
  assert.equal((await client.ask(get('missing'))).status, Status.keyNotFound);
  await gate.runNext();
  await gate.runNext();
  const replies = [await client.next(), await client.next()];
  assert.deepEqual(
    replies.map((reply) => [reply?.opaque, reply?.status]),
    [
      [9, Status.success],
      [8, Status.success],
    ],
  );
});

test('a mutation changes the current version of a large document if that changed during the work', async () => {
  const gate = new Gate();
  await using service = await startService(undefined, { heavy: gate });
  const [client, other] = [await service.ready(), await service.ready()];
  await storeHeavy(gate, client, 'large', document);
  client.send(mutation('large', change(SubdocOpcode.counter, 'n', '1')));
  await gate.waitForOne();
  assert.equal((await other.ask(set('large', Buffer.from('{"n":10}')))).status, 0);
  await gate.runNext();
  assert.equal((await client.next())?.status, 0);
  assert.equal((await other.ask(get('large'))).value.toString(), '{"n":11}');
});

test('a large mutation that creates its document counts as one read and no hit', async () => {
  await using service = await startService();
  const client = await service.ready();
  const text = JSON.stringify('x'.repeat(200_000));
  const head = Buffer.from([SubdocOpcode.dictUpsert, 0, 0, 1, 0, 0, 0, 0]);
  head.writeUInt32BE(text.length, 4);
  const createsDocument = Buffer.from([DocFlag.mkdoc]);
  const value = Buffer.concat([head, Buffer.from(`a${text}`)]);
  const created = await client.ask({
    opcode: Opcode.subdocMultiMutation,
    key: key('new'),
    extras: createsDocument,
    value,
  });
  assert.equal(created.status, Status.success);
  const figures = new Map<string, string>();
  client.send({ opcode: Opcode.stat });
  for (let reply = await client.next(); reply && reply.key.length > 0; reply = await client.next())
    figures.set(reply.key.toString(), reply.value.toString());
  const statistics = ['cmd_get', 'get_hits', 'get_misses', 'vb_replica_curr_items', 'curr_items_tot'];
  assert.deepEqual(
    statistics.map((name) => figures.get(name)),
    ['1', '0', '1', '0', '1'],
  );
});

test('a mutation fails temporarily if its document changes during every attempt', async () => {
  const gate = new Gate();
  await using service = await startService(undefined, { heavy: gate });
  const [client, other] = [await service.ready(), await service.ready()];
  await storeHeavy(gate, client, 'large', document);
  client.send(mutation('large', change(SubdocOpcode.counter, 'n', '1')));
  for (let round = 0; round < 100; round++) {
    await gate.waitForOne();
    assert.equal(
      (await other.ask({ opcode: Opcode.touch, key: key('large'), extras: Buffer.alloc(4) })).status,
      0,
    );
    await gate.runNext();
  }
  assert.equal((await client.next())?.status, Status.temporaryFailure);
});

test('macros of a large document are expanded to the CAS and the seqno of its mutation', async () => {
  await using service = await startService();
  const client = await service.ready({ features: [...usualFeatures, Feature.multipleXattrKeys] });
  await client.ask(set('large', document));
  const macros = PathFlag.xattr | PathFlag.expandMacros;
  const reply = await client.ask(
    mutation(
      'large',
      change(SubdocOpcode.dictUpsert, 'x.cas', `"\${Mutation.CAS}"`, macros | PathFlag.mkdirP),
      change(SubdocOpcode.dictUpsert, 'x.seqno', `"\${Mutation.seqno}"`, macros),
      change(SubdocOpcode.replace, 'n', '2'),
    ),
  );
  assert.equal(reply.status, 0);
  const { value } = await client.ask(
    lookup('large', spec(SubdocOpcode.get, 'x', PathFlag.xattr), spec(SubdocOpcode.get, 'n')),
  );
  const x = JSON.parse(value.toString('utf8', 6, 6 + value.readUInt32BE(2)));
  const cas = Buffer.alloc(8);
  cas.writeBigUInt64LE(reply.cas);
  assert.deepEqual(x, {
    cas: `0x${cas.toString('hex')}`,
    seqno: `0x${reply.extras.subarray(8).toString('hex')}`,
  });
  assert.equal(value.toString('utf8', value.length - 1), '2');
});

test('the checksum of a large document has the CAS and the seqno that came into its body with an xattr', async () => {
  await using service = await startService();
  const client = await service.ready({ features: [...usualFeatures, Feature.multipleXattrKeys] });
  const macros = PathFlag.xattr | PathFlag.expandMacros;
  const sums = [[`"\${Mutation.value_crc32c}"`, macros] as const, ['"0x00000000"', PathFlag.xattr] as const];
  for (const [sum, flags] of sums) {
    await client.ask(set('large', document));
    const reply = await client.ask(
      mutation(
        'large',
        change(SubdocOpcode.dictUpsert, 'x.cas', `"\${Mutation.CAS}"`, macros | PathFlag.mkdirP),
        change(SubdocOpcode.dictUpsert, 'x.seqno', `"\${Mutation.seqno}"`, macros),
        change(SubdocOpcode.dictUpsert, 'sum', sum, flags),
        change(SubdocOpcode.replaceBodyWithXattr, 'x', '', PathFlag.xattr),
      ),
    );
    assert.equal(reply.status, 0);
    const { value: body } = await client.ask(get('large'));
    const { value } = await client.ask(lookup('large', spec(SubdocOpcode.get, 'sum', PathFlag.xattr)));
    assert.match(body.toString(), /^{"cas":"0x[0-9a-f]{16}","seqno":"0x[0-9a-f]{16}"}$/);
    const checksum = `"0x${crc32c(body, 0, body.length).toString(16).padStart(8, '0')}"`;
    assert.equal(value.toString('utf8', 6), flags === macros ? checksum : sum);
  }
});

test('large values are stored and refused like small ones: JSON, compressed, appended to', async () => {
  await using service = await startService(undefined, { heavy: new HeavyThread(realClock) });
  const client = await service.ready();
  const compressed = snappyCompress(document, 0, document.length);
  assert.ok(document.length > packedBytesMax);
  const noJson = Buffer.concat([document, Buffer.from('x')]);
  for (const [name, value, sent, datatype] of [
    ['json', document, document, 0],
    ['text', noJson, noJson, 0],
    ['packed', document, compressed, 0x02],
  ] as const) {
    client.send(set(name, sent, datatype), get(name));
    assert.equal((await client.next())?.status, 0, name);
    const reply = await client.next();
    assert.ok(reply?.value.equals(value), name);
    assert.equal(reply?.datatype, name === 'text' ? 0 : 1, name);
  }
  client.send({ opcode: Opcode.append, key: key('json'), value: Buffer.from('x') }, get('json'));
  client.send({ opcode: Opcode.prepend, key: key('json'), value: compressed, datatype: 0x02 }, get('json'));
  assert.deepEqual([(await client.next())?.status, (await client.next())?.value.equals(noJson)], [0, true]);
  assert.equal((await client.next())?.status, 0);
  assert.ok((await client.next())?.value.equals(Buffer.concat([document, noJson])));
  const broken = Buffer.from(compressed);
  broken[100] = 0xff;
  broken[101] = 0xff;
  assert.equal((await client.ask(set('json', broken, 0x02))).status, Status.invalidArguments);
  const attributes = Buffer.concat([Buffer.from([0, 0, 0, 9]), document]);
  assert.equal((await client.ask(set('json', attributes, 0x04))).status, Status.xattrInvalid);
  assert.equal((await client.ask(set('big', Buffer.alloc(20 * 1024 * 1024 + 1)))).status, Status.tooBig);
});

test('users are served round robin, and jobs of closed connections dropped', async () => {
  const gate = new Gate();
  const queue = new HeavyQueue(gate);
  const order: string[] = [];
  const add = (user: string, name: string, isGone = false) =>
    queue
      .run(
        { user, isGone: () => isGone },
        { kind: 'validate', parts: [Buffer.from('1')], encoding: 0, room: 0 },
      )
      .then(
        () => order.push(name),
        () => order.push(`${name} is gone`),
      );
  const all = [
    add('a', 'a1'),
    add('a', 'a2'),
    add('a', 'a3', true),
    add('a', 'a4'),
    add('b', 'b1'),
    add('c', 'c1'),
  ];
  for (let done = 0; done < 5; done++) await gate.runNext();
  await Promise.all(all);
  assert.deepEqual(
    order.filter((name) => !name.endsWith('gone')),
    ['a1', 'a2', 'b1', 'c1', 'a4'],
  );
});

test('a job that cannot be started fails alone, and the jobs after it run', async () => {
  let starts = 0;
  const queue = new HeavyQueue({
    perform: (job) => {
      starts++;
      if (starts === 1) throw new Error('the system has no room for another thread');
      return Promise.resolve(perform(job));
    },
    stop: async () => {},
  });
  const owner = { user: 'a', isGone: () => false };
  const job = { kind: 'validate', parts: [Buffer.from('1')], encoding: 0, room: 0 } as const;
  const [first, second] = await Promise.allSettled([queue.run(owner, job), queue.run(owner, job)]);
  assert.deepEqual([first.status, second.status], ['rejected', 'fulfilled']);
  assert.ok(queue.hasRoom('a', 128 * 1024 * 1024), 'the bytes of a job that ended are still counted');
});

test('a failure of the heavy work thread fails only the request that it worked for', async () => {
  const users = [aUser('admin', 'password')];
  const broken: HeavyPerformer = {
    perform: () => Promise.reject(new Error('it ended')),
    stop: async () => {},
  };
  await using service = await startService(aDesired({ users }), { heavy: broken });
  const client = await service.ready();
  assert.equal((await client.ask(set('large', document))).status, Status.temporaryFailure);
  assert.equal((await client.ask(set('small', Buffer.from('1')))).status, 0);
});
