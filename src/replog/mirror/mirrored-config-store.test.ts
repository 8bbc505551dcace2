// The mirrored store against simulated servers, where time and faults come from a seed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Log, silentLog } from '#ports/log.ts';
import { configStoreSuite } from '../../../test/contract/config-store.ts';
import { counting as increments } from '../../../test/support/counting.ts';
import {
  FaultyConfigLink,
  type LinkFaults,
  noFaults,
  SimulatedServers,
} from '../../../test/support/faulty-config-link.ts';
import { portOf } from '../../../test/support/faulty-config-store.ts';
import { SeenHeadInMemory } from '../../../test/support/nats-store.ts';
import { aSeed, type Random, randomFrom } from '../../../test/support/random.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import { MirroredConfigStore } from './mirrored-config-store.ts';

class Simulation {
  readonly clock = new SimulatedClock();
  readonly servers = new SimulatedServers();
  readonly random: Random;

  constructor(seed: number) {
    this.random = randomFrom(seed);
  }

  node(seen = new SeenHeadInMemory(), log: Log = silentLog) {
    const { clock, servers, random } = this;
    const link = new FaultyConfigLink(servers, clock, random);
    const store = new MirroredConfigStore({ link, seen, clock, random: portOf(random), log });
    return { link, store };
  }

  async started(seen?: SeenHeadInMemory) {
    const node = this.node(seen);
    await this.clock.until(node.store.start());
    return node;
  }
}

configStoreSuite('mirrored, simulated servers in real time', {
  isShared: true,
  async make() {
    const simulation = new Simulation(1);
    let isOver = false;
    const running = (async () => {
      while (!isOver) await simulation.clock.run(5);
    })();
    return {
      async open() {
        const { store } = simulation.node();
        await store.start();
        return store;
      },
      async close() {
        isOver = true;
        await running;
      },
    };
  },
});

it('a stop is not logged as an outage, and changes are refused afterwards', async () => {
  const simulation = new Simulation(1);
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (event) => warnings.push(event) };
  const { store } = simulation.node(new SeenHeadInMemory(), log);
  await simulation.clock.until(store.start());
  await simulation.clock.until(store[Symbol.asyncDispose]());
  assert.deepEqual(warnings, []);
  await assert.rejects(simulation.clock.until(store.put('a', 1, 0)), /it is closed/);
});

/** Three nodes add to one counter under faults; afterwards without faults. */
async function counting(seed: number, faults: Partial<LinkFaults>) {
  const simulation = new Simulation(seed);
  const { clock, servers } = simulation;
  const nodes = [await simulation.started(), await simulation.started(), await simulation.started()];
  const seen: number[][] = nodes.map(() => []);
  for (const [i, { store }] of nodes.entries())
    await store.watch('count', (_, entry) => seen[i]?.push(entry?.value as number));
  for (const { link } of nodes) link.faults = { ...noFaults, ...faults };
  const load = increments(
    nodes.map(({ store }) => store),
    8,
  );
  await clock.until(load.running);
  for (const { link } of nodes) link.faults = noFaults;
  await clock.run(60_000);
  const stored = JSON.parse(servers.newest('count')?.json ?? '0') as number;
  const mirrored = await Promise.all(
    nodes.map(async ({ store }) => (await store.get<number>('count'))?.value),
  );
  for (const { store } of nodes) void store[Symbol.asyncDispose]();
  await clock.run(10_000);
  return { ...load.outcome, stored, mirrored, seen };
}

const allFaults = {
  delayMaxMs: 200,
  lostRequest: 5,
  lostAnswer: 10,
  doubled: 10,
  refusedThenMade: 10,
  stale: 10,
  brokenFeed: 5,
};

describe('mirrored configuration store', () => {
  it('makes each acknowledged change once, although calls and answers are lost, late, doubled, refused or stale', async (t) => {
    const random = aSeed(t);
    const rounds = Number(process.env['DIVAN_TEST_ROUNDS'] ?? 60);
    let unknown = 0;
    for (let round = 0; round < rounds; round++) {
      const seed = random(1 << 30);
      const run = await counting(seed, allFaults);
      assert.ok(run.done > 0, `seed ${seed}`);
      const isRight = run.stored >= run.done && run.stored <= run.done + run.unknown;
      assert.ok(isRight, `seed ${seed}: ${run.stored} of ${run.done} + ${run.unknown}`);
      assert.deepEqual(run.mirrored, [run.stored, run.stored, run.stored], `seed ${seed}`);
      for (const values of run.seen)
        assert.deepEqual(
          values,
          [...new Set(values)].sort((a, b) => a - b),
          `seed ${seed}`,
        );
      unknown += run.unknown;
    }
    t.diagnostic(`${unknown} of unknown outcome`);
  });

  it('knows the outcome of nearly all changes where answers are only lost, doubled or refused', async () => {
    const { done, stored, unknown, refused } = await counting(5, {
      lostAnswer: 20,
      doubled: 20,
      refusedThenMade: 20,
    });
    assert.equal(done + unknown + refused, 24);
    assert.ok(unknown <= 2, `${unknown}`);
    assert.ok(stored >= done && stored <= done + unknown);
  });

  it('serves reads and refuses changes during an outage, then takes over what other nodes changed and deleted', async () => {
    const simulation = new Simulation(3);
    const { clock } = simulation;
    const { link, store } = await simulation.started();
    const { store: other } = await simulation.started();
    const seen: [string, unknown][] = [];
    await store.watch('', (key, entry) => seen.push([key, entry?.value ?? null]));
    assert.equal(await clock.until(store.put('a', 1, 0)), 1);
    assert.equal(await clock.until(store.put('b', 1, 0)), 2);
    await clock.run(1_000);
    link.isDown = true;
    assert.equal(await clock.until(other.delete('b', 2)), true);
    await clock.until(other.put('c', 1, 0));
    await clock.run(30_000);
    assert.deepEqual(
      (await store.list('')).map(({ key }) => key),
      ['a', 'b'],
    );
    const startMs = clock.monotonicMs();
    await assert.rejects(
      clock.until(store.put('a', 2, 1)),
      /Nothing was changed: the configuration is stored by the simulated servers, which cannot be used now/,
    );
    assert.equal(clock.monotonicMs(), startMs);
    link.isDown = false;
    await clock.run(10_000);
    assert.deepEqual(seen, [
      ['a', 1],
      ['b', 1],
      ['b', null],
      ['c', 1],
    ]);
    assert.equal(await clock.until(store.put('b', 2, 0)), 5);
  });

  it('refuses a state that is older than the last one that it has seen, and continues once that is available again', async () => {
    const simulation = new Simulation(4);
    const { clock, servers } = simulation;
    const seen = new SeenHeadInMemory();
    const { store } = await simulation.started(seen);
    for (let i = 1; i < 4; i++) assert.equal(await clock.until(store.put('a', i, i - 1)), i);
    const newer = [...servers.log];
    servers.log = newer.slice(0, 2);
    await clock.run(10_000);
    assert.match(store.problem ?? '', /went back to an older state.*its newest revision is 2, and was 3/);
    await assert.rejects(clock.until(store.put('a', 9, 3)), /Nothing was changed.*went back/);
    assert.equal((await store.get('a'))?.value, 3);

    // The store continued from the older state: the same revision is another change.
    servers.log = [...newer.slice(0, 2), { key: 'a', json: '7', revision: 3, writes: ['x'] }];
    await clock.run(10_000);
    assert.match(store.problem ?? '', /"a" has another value than before at revision 3/);
    servers.log = [...newer.slice(0, 2), { key: 'b', json: '7', revision: 3, writes: ['x'] }];
    await clock.run(10_000);
    assert.match(store.problem ?? '', /"a" is at 2, and was at 3/);
    servers.log = [{ key: 'b', json: '7', revision: 4, writes: ['x'] }];
    await clock.run(10_000);
    assert.match(store.problem ?? '', /"a" is missing/);
    servers.log = [...newer];
    servers.identity = 'two';
    await clock.run(10_000);
    assert.match(store.problem ?? '', /it is another store than before/);
    servers.identity = 'one';
    await clock.run(10_000);
    assert.equal(store.problem, null);
    assert.equal(await clock.until(store.put('a', 4, 3)), 4);

    await clock.run(2_000);
    assert.deepEqual(seen.head, { identity: 'one', revision: 4 });
    servers.log = newer;
    const { store: next } = simulation.node(seen);
    const reasons: string[] = [];
    void next.start((reason) => reasons.push(reason));
    await clock.run(5_000);
    assert.match(reasons.join(), /its newest revision is 3, and was 4/);
  });

  it('takes over the whole state of a later founder, also if that state is older, and never returns to the earlier founder', async () => {
    const simulation = new Simulation(8);
    const { clock, servers } = simulation;
    servers.term = { epoch: 1, founder: 'a' };
    const seen = new SeenHeadInMemory();
    const { store, link } = await simulation.started(seen);
    const changes: [string, unknown][] = [];
    for (const key of ['k', 'l', 'm']) await clock.until(store.put(key, 1, 0));
    await clock.until(store.put('k', 'only here', 1));
    await store.watch('', (key, entry) => changes.push([key, entry?.value ?? null]));
    changes.length = 0;
    const before = [...servers.log];

    // The new founder had not seen the last two changes.
    link.isDown = true;
    servers.term = { epoch: 2, founder: 'b' };
    servers.log = [
      { key: 'k', json: '1', revision: 1, writes: null },
      { key: 'l', json: '2', revision: 2, writes: null },
    ];
    await clock.run(10_000);
    link.isDown = false;
    await clock.run(10_000);
    assert.equal(store.problem, null);
    assert.deepEqual(changes, [
      ['k', 1],
      ['l', 2],
      ['m', null],
    ]);
    assert.equal(await clock.until(store.put('k', 5, 1)), 3);

    const after = [...servers.log];
    Object.assign(servers, { log: before, term: { epoch: 1, founder: 'a' } });
    await clock.run(10_000);
    assert.match(
      store.problem ?? '',
      /another founder took it over in epoch 2, and this store is of epoch 1/,
    );
    assert.equal((await store.get('k'))?.value, 5);
    Object.assign(servers, { log: after, term: { epoch: 2, founder: 'b' } });
    await clock.run(10_000);
    assert.equal(store.problem, null);
    assert.deepEqual(seen.head, { identity: 'one', epoch: 2, founder: 'b', revision: 3 });
  });

  it('reads and changes nothing while another member takes the store over, until that is done or given up', async () => {
    const simulation = new Simulation(9);
    const { clock, servers } = simulation;
    servers.term = { epoch: 1, founder: 'a' };
    const { store } = await simulation.started();
    store.fence();
    servers.write({ key: 'k', json: '1', writes: ['x'] }, 0);
    await clock.run(20_000);
    assert.deepEqual(store.state, { revision: 0, records: [] });
    assert.match(store.problem ?? '', /another member of the cluster is taking the configuration over/);
    await assert.rejects(clock.until(store.put('l', 1, 0)), /Nothing was changed/);
    store.release();
    await clock.run(1_000);
    assert.deepEqual([store.problem, store.revision()], [null, 1]);
    store.fence();
    servers.term = { epoch: 2, founder: 'b' };
    await clock.run(10_000);
    assert.equal(store.problem, null);
  });

  it('does not return to a founder that is fenced while the mirror looks for records that are missing at the founder', async () => {
    const simulation = new Simulation(9);
    const { clock, servers } = simulation;
    servers.term = { epoch: 1, founder: 'a' };
    const { link, store } = await simulation.started();
    await clock.until(store.put('k', 1, 0));
    await clock.until(store.delete('k', 1));
    await clock.until(store.put('l', 1, 0));
    // The servers no longer store the deleted key.
    servers.log = servers.log.filter(({ key }) => key !== 'k');
    const read = link.read.bind(link);
    let isFenced = false;
    link.read = async (key) => {
      if (!isFenced) store.fence();
      isFenced = true;
      return read(key);
    };
    servers.feeds.clear();
    servers.write({ key: 'l', json: '2', writes: ['x'] }, 3);
    await clock.run(60_000);
    assert.ok(isFenced, 'nothing was missing');
    assert.match(store.problem ?? '', /another member of the cluster is taking the configuration over/);
  });

  it('follows its first founder even if the mirror was fenced before it knew a founder', async () => {
    const simulation = new Simulation(10);
    const { clock, servers } = simulation;
    servers.term = { epoch: 2, founder: 'b' };
    const { link, store } = simulation.node();
    link.isDown = true;
    const started = store.start();
    await clock.run(500);
    store.fence();
    link.isDown = false;
    await clock.until(started);
    assert.deepEqual([store.problem, store.head?.epoch], [null, 2]);
  });

  it('detects a feed that stops without an error', async () => {
    const simulation = new Simulation(6);
    const { clock, servers } = simulation;
    const { store } = await simulation.started();
    servers.feeds.clear();
    servers.write({ key: 'a', json: '1', writes: ['x'] }, 0);
    await clock.run(20_000);
    assert.equal((await store.get('a'))?.value, 1);
  });
});
