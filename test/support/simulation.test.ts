// The parts that simulations are made of: the clocks, the net, and the configuration store with faults.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UnavailableError } from '#base/unavailable-error.ts';
import { update } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { FaultyConfigStore, noStoreFaults, StoreHistory } from './faulty-config-store.ts';
import { ManualClock } from './manual-clock.ts';
import { aSeed, randomFrom } from './random.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedNet } from './simulated-net.ts';

describe('simulated clock', () => {
  it('runs timers by time, then in the order of their creation, and promises between two timers', async () => {
    const clock = new SimulatedClock();
    const seen: string[] = [];
    clock.after(5, () => seen.push('timer at 5'));
    clock.soon(() => {
      seen.push('soon');
      void Promise.resolve().then(() => seen.push('promise of soon'));
      clock.soon(() => seen.push('soon of soon'));
    });
    clock.after(0, () => seen.push('timer at 0'));
    void clock.sleep(5).then(() => seen.push('slept 5'));
    clock.after(1, () => seen.push('never')).cancel();
    assert.deepEqual(seen, []);
    await clock.run(5);
    assert.deepEqual(seen, [
      'soon',
      'promise of soon',
      'timer at 0',
      'soon of soon',
      'timer at 5',
      'slept 5',
    ]);
    assert.equal(clock.monotonicMs(), 5);
  });

  it('reports a simulation in which nothing can happen any more', async () => {
    const clock = new SimulatedClock();
    await assert.rejects(clock.until(new Promise(() => {})), /cannot continue/);
    assert.equal(await clock.until(clock.sleep(100).then(() => clock.monotonicMs())), 100);
  });
});

describe('clocks of tests', () => {
  for (const clock of [new SimulatedClock(), new ManualClock()])
    it(`rejects a sleep that is aborted, also one that begins after that: ${clock.constructor.name}`, async () => {
      const aborting = new AbortController();
      const sleeping = assert.rejects(clock.sleep(10, aborting.signal), /enough/);
      aborting.abort(new Error('enough'));
      await sleeping;
      await assert.rejects(clock.sleep(10, aborting.signal), /enough/);
    });
});

describe('simulated net', () => {
  it('keeps the order of a link, cuts one direction, and loses what is sent to a node that was replaced', async () => {
    const clock = new SimulatedClock();
    const net = new SimulatedNet<number>(clock, randomFrom(1));
    const got: string[] = [];
    const receive =
      (name: string) =>
      (from: string, message: number): unknown =>
        got.push(`${from}>${name}:${message}`);
    net.attach('a', receive('a'));
    net.attach('b', receive('b'));
    for (let i = 0; i < 5; i++) net.send('a', 'b', i);
    await clock.run(100);
    assert.deepEqual(got.splice(0), ['a>b:0', 'a>b:1', 'a>b:2', 'a>b:3', 'a>b:4']);
    net.cut('a', 'b');
    net.send('a', 'b', 6);
    net.send('b', 'a', 7);
    await clock.run(100);
    assert.deepEqual(got.splice(0), ['b>a:7']);
    net.heal();
    net.send('a', 'b', 8);
    net.attach('b', receive('b again'));
    await clock.run(100);
    assert.deepEqual(got, []);
  });

  it('loses and duplicates messages at the given rate', async () => {
    const clock = new SimulatedClock();
    const net = new SimulatedNet<number>(clock, randomFrom(2));
    let got = 0;
    net.attach('b', () => got++);
    net.faults = { lostPercent: 50, doubledPercent: 50, delayMaxMs: 5, keepsOrder: false };
    for (let i = 0; i < 1000; i++) net.send('a', 'b', i);
    await clock.run(100);
    assert.ok(got > 600 && got < 900, `${got}`);
  });
});

/** Four nodes increment one key. The trace has, for each increment, the node, the value and the time. */
async function counting(seed: number, faults: Partial<typeof noStoreFaults>) {
  const clock = new SimulatedClock();
  const random = randomFrom(seed);
  const server = new MemoryConfigStore();
  const history = await StoreHistory.recording(server);
  const nodes = Array.from({ length: 4 }, () => new FaultyConfigStore({ server, history, clock, random }));
  const outcomes = { done: 0, unknown: 0, refused: 0 };
  const trace: string[] = [];
  const count = async (node: FaultyConfigStore, name: number): Promise<void> => {
    for (let i = 0; i < 10; i++) {
      try {
        const { value } = await update<number>(node, 'count', 0, (before) => before + 1);
        outcomes.done++;
        trace.push(`${name}:${value}@${clock.monotonicMs()}`);
      } catch (error) {
        assert.ok(error instanceof UnavailableError);
        if (error.message.startsWith('The change may be lost')) outcomes.unknown++;
        else outcomes.refused++;
      }
    }
  };
  for (const node of nodes) node.faults = { ...noStoreFaults, ...faults };
  await clock.until(Promise.all(nodes.map((node, name) => count(node, name))));
  await clock.run(20_000);
  return { ...outcomes, stored: (await server.get<number>('count'))?.value ?? 0, trace: trace.join(' ') };
}

describe('configuration store with faults', () => {
  const faults = {
    delayMaxMs: 50,
    lostRequestPercent: 5,
    lostAnswerPercent: 5,
    latePercent: 5,
    stalePercent: 20,
  };

  it('applies every acknowledged update, and no other except those of unknown outcome', async (t) => {
    const random = aSeed(t);
    for (let round = 0; round < 20; round++) {
      const { done, unknown, stored } = await counting(random(1 << 30), faults);
      assert.ok(done > 0 && stored >= done && stored <= done + unknown, `${done}, ${unknown}, ${stored}`);
    }
  });

  it('repeats a run exactly from its seed', async () => {
    const first = await counting(7, faults);
    assert.deepEqual(await counting(7, faults), first);
    assert.notEqual((await counting(8, faults)).trace, first.trace);
  });

  it('lets an update fail after ten seconds in which others changed the key before each of its attempts', async () => {
    const clock = new SimulatedClock();
    const server = new MemoryConfigStore();
    const random = randomFrom(3);
    const store = new FaultyConfigStore({
      server,
      history: await StoreHistory.recording(server),
      clock,
      random,
    });
    const put = store.put.bind(store);
    let attempts = 0;
    store.put = async (key, value, revision) => {
      attempts++;
      await server.put(key, 'of another', (await server.get(key))?.revision ?? 0);
      return put(key, value, revision);
    };
    const updating = assert.rejects(
      clock.until(update(store, 'k', '', () => 'mine')),
      /Nothing was changed: other writers changed the configuration key "k" first for 10 seconds/,
    );
    await updating;
    assert.ok(attempts > 40 && attempts < 200, `${attempts}`);
    assert.ok(clock.monotonicMs() <= 10_500);
  });

  it('refuses calls while it is down, and then returns the older state that was restored', async () => {
    const clock = new SimulatedClock();
    const server = new MemoryConfigStore();
    const random = randomFrom(4);
    const store = new FaultyConfigStore({
      server,
      history: await StoreHistory.recording(server),
      clock,
      random,
    });
    await clock.until(store.put('k', 1, 0));
    const older = server.backup();
    await clock.until(store.put('k', 2, 1));
    store.isDown = true;
    await assert.rejects(clock.until(store.get('k')), UnavailableError);
    await assert.rejects(clock.until(store.put('k', 3, 2)), /Nothing was changed/);
    store.isDown = false;
    server.restore(older);
    assert.equal((await clock.until(store.get('k')))?.value, 1);
    assert.equal(await clock.until(store.put('k', 3, 2)), null);
  });
});
