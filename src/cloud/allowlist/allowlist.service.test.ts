import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ClusterNodes } from '../clusters/cluster-nodes.ts';
import { migrate } from '../store/migrations.ts';
import { openSqlite } from '../store/sqlite.adapter.ts';
import type { AllowlistRow } from '../store/tables.ts';
import { entriesMax } from './allowlist.contract.ts';
import { AllowlistService } from './allowlist.service.ts';
import { AllowlistStore } from './allowlist.store.ts';

const permanent = (cidrBlock: string) => ({ cidrBlock, ruleType: 'permanent' as const });
const temporary = { cidrBlock: '10.9.0.0/16', ruleType: 'temporary' as const, duration: '5s' };

/** Stores the last list that was sent to it; does not answer while `isDead`. */
class FakeNode {
  admitted: string[] = [];
  isDead = false;
  warnings = 0;
  updates = 0;

  async put(_path: string, { entries }: { entries: string[] }): Promise<void> {
    if (this.isDead) throw new Error('the node does not answer');
    this.updates++;
    this.admitted = entries;
  }
}

async function aService(t: TestContext) {
  const { store } = openSqlite(':memory:');
  await migrate(store);
  await store.insertInto('projects').values({ id: 'p', name: 'p', created_at: 0 }).execute();
  const cluster = aClusterRow({ home: 'h' });
  await store.insertInto('clusters').values(cluster).execute();
  const [clock, node] = [new ManualClock(), new FakeNode()];
  const nodes = { clients: () => Promise.resolve([node]) } as unknown as ClusterNodes;
  const log = { ...silentLog, warn: () => void node.warnings++ };
  const entries = new AllowlistStore({ store, clock });
  const service = new AllowlistService({
    entries,
    nodes,
    home: 'h',
    operatorAddress: '127.255.0.1',
    clock,
    log,
  });
  service.start();
  t.after(async () => {
    await service.stop();
    await store.destroy();
  });
  const listed = async () => (await service.list(cluster)).map(({ cidr, state }) => `${cidr} ${state}`);
  /** Advances the clock half a second at a time, and lets due work of the service finish after each step. */
  const pass = async (ms: number): Promise<void> => {
    for (let past = 0; past < ms; past += 500) {
      clock.advance(500);
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { service, store, entries, cluster, node, clock, listed, pass };
}

test('a node that applies an unanswered update late gets the newest list again', async (t) => {
  const { node, service, cluster, pass } = await aService(t);
  await service.append(cluster, permanent('10.1.0.0/16'));
  const old = node.admitted;
  node.isDead = true;
  await service.remove(cluster, '10.1.0.0/16');
  await pass(2_000);
  node.isDead = false;
  await pass(1_500);
  const newest = node.admitted;
  assert.ok(!newest.includes('10.1.0.0/16'));
  node.admitted = old;
  await pass(31_000);
  assert.deepEqual(node.admitted, newest);
  const { updates } = node;
  await pass(60_000);
  assert.equal(node.updates, updates);
});

test('once a node answers again, the allowlist service removes the entries that were removed, replaced or expired meanwhile', async (t) => {
  const { service, cluster, node, listed, pass } = await aService(t);
  await service.replace(cluster, [permanent('10.1.0.0/16'), permanent('10.2.0.0/16'), temporary]);
  assert.deepEqual(node.admitted, ['10.1.0.0/16', '10.2.0.0/16', '10.9.0.0/16']);
  node.isDead = true;
  await service.remove(cluster, '10.1.0.0/16');
  await pass(6_000);
  assert.deepEqual(await listed(), ['10.2.0.0/16 active', '10.9.0.0/16 expired']);
  node.isDead = false;
  await pass(2_000);
  assert.deepEqual(node.admitted, ['10.2.0.0/16']);
  node.isDead = true;
  await service.replace(cluster, []);
  assert.deepEqual(await listed(), []);
  await assert.rejects(service.remove(cluster, '10.2.0.0/16'), /there is no entry/);
  node.isDead = false;
  await pass(2_000);
  assert.deepEqual(node.admitted, []);
});

test('the allowlist service admits an entry that was removed and added again while the node did not answer', async (t) => {
  const { service, cluster, node, listed, pass } = await aService(t);
  await service.append(cluster, permanent('10.1.0.0/16'));
  node.isDead = true;
  await service.remove(cluster, '10.1.0.0/16');
  await service.append(cluster, permanent('10.1.0.0/16'));
  assert.deepEqual(await listed(), ['10.1.0.0/16 failed']);
  await service.replace(cluster, []);
  await service.replace(cluster, [permanent('10.1.0.0/16')]);
  node.isDead = false;
  await pass(2_000);
  assert.deepEqual([node.admitted, await listed()], [['10.1.0.0/16'], ['10.1.0.0/16 active']]);
});

test('the allowlist service has one entry for a network, in whatever spelling it is added, replaced or removed', async (t) => {
  const { service, cluster, node, listed, pass } = await aService(t);
  await service.append(cluster, permanent('10.0.0.0/8'));
  await service.append(cluster, permanent('2001:db8::/32'));
  for (const spelling of ['10.1.2.3/8', '10.0.0.0/08', '::ffff:10.0.0.0/104'])
    await assert.rejects(
      service.append(cluster, permanent(spelling)),
      /there is an entry for 10\.0\.0\.0\/8 /,
    );
  await service.replace(cluster, [permanent('10.9.0.0/8'), permanent('2001:DB8::/32')]);
  assert.deepEqual(await listed(), ['10.9.0.0/8 active', '2001:DB8::/32 active']);
  await service.remove(cluster, '10.0.0.0/8');
  await service.remove(cluster, '2001:0db8::/32');
  assert.deepEqual([await listed(), node.admitted], [[], []]);
  await service.append(cluster, temporary);
  await pass(6_000);
  await service.append(cluster, permanent('10.9.1.1/16'));
  assert.deepEqual(await listed(), ['10.9.1.1/16 active']);
});

test('the allowlist service removes all spellings of a network that an earlier version stored', async (t) => {
  const { service, store, cluster, node, listed } = await aService(t);
  await service.append(cluster, permanent('10.0.0.0/8'));
  const [row] = await service.list(cluster);
  await store
    .insertInto('allowlist')
    .values({ ...(row as AllowlistRow), cidr: '10.1.2.3/8' })
    .execute();
  await service.remove(cluster, '10.0.0.0/8');
  assert.deepEqual([await listed(), node.admitted], [[], []]);
});

test('the allowlist service replaces the whole list any number of times while the node does not answer', async (t) => {
  const { service, entries, cluster, node, pass } = await aService(t);
  node.isDead = true;
  for (let round = 0; round < 10; round++)
    await service.replace(
      cluster,
      Array.from({ length: entriesMax }, (_, i) => permanent(`10.${round}.${i >> 8}.${i & 255}/32`)),
    );
  assert.ok((await entries.withRemoved(cluster.id)).length <= 2 * entriesMax);
  node.isDead = false;
  await pass(2_000);
  assert.equal(node.admitted.length, entriesMax);
  assert.equal((await entries.withRemoved(cluster.id)).length, entriesMax);
  assert.equal(node.admitted[0], '10.9.0.0/32');
});

test('while no node answers, entries that are added and removed one by one leave at most as many removed entries as a list may have', async (t) => {
  const { cluster, entries } = await aService(t);
  const block = (i: number): string => `10.1.${i >> 8}.${i & 255}/32`;
  await entries.replace(
    cluster.id,
    Array.from({ length: entriesMax }, (_, i) => permanent(block(i))),
  );
  await entries.replace(cluster.id, []);
  for (let i = entriesMax; i < entriesMax + 5; i++) {
    await entries.add(cluster.id, permanent(block(i)));
    await entries.remove(cluster.id, block(i));
  }
  assert.equal((await entries.withRemoved(cluster.id)).length, entriesMax + 1);
});

test('a full list drops its longest expired entries for new ones, and refuses an entry once none has expired', async (t) => {
  const { entries, service, cluster, clock, listed } = await aService(t);
  const block = (i: number): string => `10.1.${i >> 8}.${i & 255}/32`;
  const first = { ...temporary, cidrBlock: block(1) };
  const second = { ...temporary, cidrBlock: block(0), duration: '6s' };
  const lasting = Array.from({ length: entriesMax - 2 }, (_, i) => permanent(block(i + 2)));
  await entries.replace(cluster.id, [second, first, ...lasting]);
  await assert.rejects(entries.add(cluster.id, permanent('10.2.0.0/16')), /has 500 entries/);
  clock.advance(7_000);
  await service.append(cluster, permanent('10.2.0.0/16'));
  assert.deepEqual((await listed()).slice(0, 2), [`${block(0)} expired`, `${block(2)} active`]);
  await service.append(cluster, permanent('10.3.0.0/16'));
  assert.equal((await listed()).length, entriesMax);
  await assert.rejects(entries.add(cluster.id, permanent('10.4.0.0/16')), /has 500 entries/);
});

test('the allowlist service logs one warning for an unreachable node, also after several attempts', async (t) => {
  const { service, cluster, node, pass } = await aService(t);
  node.isDead = true;
  await service.append(cluster, permanent('10.1.0.0/16'));
  await pass(5_000);
  assert.equal(node.warnings, 1);
});

test('the allowlist service keeps the expiry time of an entry that is sent back as it was read, and restarts it for another duration', async (t) => {
  const { service, cluster, node, listed, pass } = await aService(t);
  const short = { ...temporary, duration: '1m0s' };
  const two = [temporary, { ...short, cidrBlock: '10.8.0.0/16' }];
  await service.replace(cluster, two);
  await pass(6_000);
  const before = await service.list(cluster);
  await service.replace(cluster, [...two, permanent('10.1.0.0/16')]);
  assert.deepEqual((await service.list(cluster)).slice(0, 2), before);
  assert.deepEqual(await listed(), ['10.9.0.0/16 expired', '10.8.0.0/16 active', '10.1.0.0/16 active']);
  assert.deepEqual(node.admitted, ['10.8.0.0/16', '10.1.0.0/16']);
  await service.replace(cluster, [
    { ...temporary, duration: '5000ms', comment: 'the same time, in other words' },
    { ...short, cidrBlock: '10.8.0.0/16', duration: '5s' },
  ]);
  assert.deepEqual(await listed(), ['10.9.0.0/16 expired', '10.8.0.0/16 active']);
  await pass(6_000);
  assert.deepEqual(await listed(), ['10.9.0.0/16 expired', '10.8.0.0/16 expired']);
  await service.append(cluster, temporary);
  assert.deepEqual(node.admitted, ['10.9.0.0/16']);
});

test('the allowlist service keeps expired entries expired when the clock is set back', async (t) => {
  const { service, cluster, node, clock, listed, pass } = await aService(t);
  await service.append(cluster, temporary);
  await pass(6_000);
  clock.setWall(-3_600_000);
  await service.append(cluster, permanent('10.1.0.0/16'));
  await service.replace(cluster, [{ ...temporary, comment: 'over' }, permanent('10.1.0.0/16')]);
  assert.deepEqual((await listed()).sort(), ['10.1.0.0/16 active', '10.9.0.0/16 expired']);
  assert.deepEqual(node.admitted, ['10.1.0.0/16']);
});

test('the allowlist service sends two hundred concurrent additions in a few updates, and answers each when the node admits it', async (t) => {
  const { service, cluster, node } = await aService(t);
  const blocks = Array.from({ length: 200 }, (_, at) => `10.${at}.0.0/16`);
  await Promise.all(
    blocks.map(async (block) => {
      await service.append(cluster, permanent(block));
      assert.ok(node.admitted.includes(block), block);
    }),
  );
  assert.equal(node.admitted.length, 200);
  assert.ok(node.updates < 60, `${node.updates} updates`);
});
