// A store that ends while its nodes change it, against simulated servers where time and faults come from a seed.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { counting } from '../../../test/support/counting.ts';
import { FaultyConfigLink, noFaults, SimulatedServers } from '../../../test/support/faulty-config-link.ts';
import { portOf } from '../../../test/support/faulty-config-store.ts';
import { SeenHeadInMemory } from '../../../test/support/nats-store.ts';
import { aSeed, randomFrom } from '../../../test/support/random.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import { MemoryConfigStore } from '../memory-config-store.ts';
import { SwitchingConfigStore } from '../switching-config-store.ts';
import type { StoreContent } from './config-link.ts';
import { MirroredConfigStore } from './mirrored-config-store.ts';
import { endIn, endKey, StoreEndedError } from './store-end.ts';

const founder = { nodeId: 'a', host: 'a', port: 1 };

function aSimulation(seed: number) {
  const clock = new SimulatedClock();
  const servers = new SimulatedServers();
  const random = randomFrom(seed);
  return {
    clock,
    servers,
    random,
    async started() {
      const link = new FaultyConfigLink(servers, clock, random);
      const parts = { link, clock, random: portOf(random), log: silentLog };
      const mirror = new MirroredConfigStore({ ...parts, seen: new SeenHeadInMemory(), mayEnd: true });
      await clock.until(mirror.start());
      return { link, mirror };
    },
  };
}

const faults = {
  delayMaxMs: 200,
  lostRequest: 5,
  lostAnswer: 10,
  doubled: 10,
  refusedThenMade: 10,
  stale: 10,
  brokenFeed: 5,
};

const shown = ({ revision, records }: StoreContent) => ({
  revision,
  records: records.map(({ key, json, revision: at }) => `${key} ${json} ${at}`).sort(),
});

/** Three nodes add to one counter while the store ends; then the next one has the configuration. */
async function ending(seed: number, hasFaults: boolean) {
  const simulation = aSimulation(seed);
  const { clock, random } = simulation;
  const nodes = [await simulation.started(), await simulation.started(), await simulation.started()];
  const next = new MemoryConfigStore();
  const contents: (StoreContent | null)[] = [];
  let copied: StoreContent | null = null;
  const filled = Promise.withResolvers<void>();
  const stores = nodes.map(({ mirror }) => {
    const store = new SwitchingConfigStore(mirror);
    void mirror.ended.then(async ({ content }) => {
      contents.push(content);
      await filled.promise;
      await store.switchTo(next);
      store.release();
    });
    return store;
  });
  for (const { link } of nodes) link.faults = hasFaults ? { ...noFaults, ...faults } : noFaults;
  const load = counting(stores, 12);
  const [{ mirror }] = nodes as [(typeof nodes)[0]];
  const end = (async () => {
    await clock.sleep(random(hasFaults ? 3_000 : 60));
    for (let isEnded = false; !isEnded; ) {
      copied = mirror.state;
      isEnded = await mirror.end({ founder, after: copied.revision }).catch(() => false);
    }
    // Advances the revisions of the next store past those of the ended one, so that no revision of a key stands for two values.
    for (let revision = 0; revision < 500; ) revision = (await next.put('pad', 0, revision)) as number;
    for (const { key, json } of (copied as unknown as StoreContent).records)
      await next.put(key, JSON.parse(json as string), 0);
    filled.resolve();
  })();
  await clock.until(end);
  await clock.until(load.running);
  for (const { link } of nodes) link.faults = noFaults;
  await clock.run(60_000);
  const count = (await next.get<number>('count'))?.value ?? 0;
  return { ...load.outcome, count, copied: copied as unknown as StoreContent, contents };
}

describe('a store that ends', () => {
  it('copies each acknowledged change once, although messages are lost, late, doubled, refused and stale', async (t) => {
    const random = aSeed(t);
    const rounds = Number(process.env['DIVAN_TEST_ROUNDS'] ?? 40);
    let known = 0;
    let unknown = 0;
    for (let round = 0; round < rounds; round++) {
      const seed = random(1 << 30);
      const run = await ending(seed, round % 2 === 0);
      assert.ok(run.done > 0, `seed ${seed}`);
      const isRight = run.count >= run.done && run.count <= run.done + run.unknown;
      assert.ok(isRight, `seed ${seed}: ${run.count} of ${run.done} + ${run.unknown}`);
      assert.equal(run.contents.length, 3, `seed ${seed}`);
      for (const content of run.contents) {
        if (content === null) continue;
        known++;
        assert.deepEqual(shown(content), shown(run.copied), `seed ${seed}`);
      }
      unknown += run.unknown;
    }
    assert.ok(known > 2 * rounds, `${known} of ${3 * rounds} nodes knew the whole store`);
    t.diagnostic(`${unknown} of unknown outcome`);
  });

  it('refuses changes, which its nodes then make in the next store', async () => {
    const { count, done, unknown, refused } = await ending(7, false);
    assert.deepEqual([count, done, unknown, refused], [36, 36, 0, 0]);
  });

  it('shows nothing that was written after its end, also to a node that comes later', async () => {
    const simulation = aSimulation(3);
    const { clock, servers } = simulation;
    const { mirror } = await simulation.started();
    assert.equal(await clock.until(mirror.put('k', 1, 0)), 1);
    assert.equal(await clock.until(mirror.end({ founder, after: 1 })), true);
    servers.write({ key: 'k', json: '2', writes: ['x'] }, 1);
    await clock.run(10_000);
    assert.equal((await mirror.get('k'))?.value, 1);
    assert.equal(await mirror.get(endKey), null);
    await assert.rejects(mirror.put('k', 3, 1), StoreEndedError);
    const { mirror: later } = await simulation.started();
    assert.deepEqual(await later.ended, { end: { founder, after: 1 }, content: null });
    assert.equal(await later.get('k'), null);
  });

  it('is whole for a node that comes after its end, if nothing was written since', async () => {
    const simulation = aSimulation(4);
    const { mirror } = await simulation.started();
    await simulation.clock.until(mirror.put('k', 1, 0));
    await simulation.clock.until(mirror.end({ founder, after: 1 }));
    const { mirror: later } = await simulation.started();
    const { content } = await later.ended;
    assert.deepEqual(content && shown(content), { revision: 1, records: ['k 1 1'] });
  });

  it('does not end by a last change that does not follow the newest copied one directly', async () => {
    const simulation = aSimulation(5);
    const { clock, servers } = simulation;
    const { mirror } = await simulation.started();
    await clock.until(mirror.put('k', 1, 0));
    assert.equal(await clock.until(mirror.end({ founder, after: 0 })), false);
    // Servers that do not check `after` make the change.
    servers.write({ key: endKey, json: JSON.stringify({ founder, after: 0 }), writes: ['x'] }, 0);
    await clock.run(5_000);
    assert.equal(await clock.until(mirror.put('k', 2, 1)), 3);
    assert.equal(endIn({ key: 'k', json: '1', revision: 1, writes: null }), null);
  });

  it('reports an unknown outcome while no server answers, and ends later if a server made the last change', async () => {
    const simulation = aSimulation(6);
    const { clock } = simulation;
    const { link, mirror } = await simulation.started();
    link.faults = { ...noFaults, brokenFeed: 100 };
    const ending = mirror.end({ founder, after: 0 });
    ending.catch(() => {});
    await clock.run(10);
    link.isDown = true;
    await assert.rejects(clock.until(ending), /did not confirm the last change in time/);
    link.faults = noFaults;
    link.isDown = false;
    await clock.run(10_000);
    assert.deepEqual((await mirror.ended).end.founder, founder);
  });
});
