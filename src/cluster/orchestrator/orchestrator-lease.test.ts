import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { FaultyConfigStore, StoreHistory } from '../../../test/support/faulty-config-store.ts';
import { aSeed, type Random, randomFrom } from '../../../test/support/random.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import {
  leaseMs,
  OrchestratorLease,
  type OrchestratorState,
  orchestratorKey,
  vacancyMs,
} from './orchestrator-lease.ts';

async function nodes(names: string, random: Random = randomFrom(1)) {
  const clock = new SimulatedClock();
  const server = new MemoryConfigStore();
  const history = await StoreHistory.recording(server);
  const ids = names.split(' ');
  const active = new Set(ids);
  const members = new Set(ids);
  const start = (node: string, boot = 'first') => {
    const store = new FaultyConfigStore({ server, history, clock, random });
    const lease = new OrchestratorLease({
      store,
      clock,
      identity: { nodeId: node, bootId: boot },
      activeNodes: () => [...active],
      isAlone: () => members.size === 1,
    });
    lease.start();
    return { node, store, lease };
  };
  const all = ids.map((id) => start(id));
  const holders = () => all.filter(({ lease }) => lease.term !== null).map(({ node }) => node);
  const runningOn = (node: string) => all.find((running) => running.node === node) ?? assert.fail(node);
  return { clock, server, active, members, start, all, holders, runningOn };
}

describe('the lease of the orchestrator', () => {
  it('belongs to the only node of a cluster, which writes nothing for it', async () => {
    const { clock, server, runningOn } = await nodes('a');
    await clock.run(60_000);
    assert.equal(server.revision(), 0);
    assert.deepEqual([runningOn('a').lease.term, runningOn('a').lease.holder], [0, 'a']);
  });

  it('belongs to one node, which the others know', async () => {
    const { clock, holders, all } = await nodes('a b c');
    assert.deepEqual(
      all.map(({ lease }) => lease.holder),
      [null, null, null],
    );
    await clock.run(3_000);
    const [holder] = holders();
    assert.equal(holders().length, 1);
    assert.ok(all.every(({ lease }) => lease.holder === holder));
    await clock.run(60_000);
    assert.deepEqual(holders(), [holder]);
  });

  it('passes to another node, with the next term, after the orchestrator has failed', async () => {
    const { clock, holders, runningOn, all } = await nodes('a b c');
    await clock.run(10_000);
    const first = runningOn(holders()[0] ?? '');
    assert.equal(first.lease.term, 1);
    first.lease.stop();
    await clock.run(leaseMs - 1_000);
    assert.ok(all.filter((other) => other !== first).every(({ lease }) => lease.term === null));
    await clock.run(4_000);
    const others = holders().filter((node) => node !== first.node);
    assert.equal(others.length, 1);
    assert.equal(runningOn(others[0] ?? '').lease.term, 2);
    assert.equal(first.lease.term, null, 'a lease ends for its holder too when the last write is too old');
  });

  it('is not taken by a node whose own calls fail', async () => {
    const { clock, holders, all, runningOn } = await nodes('a b');
    await clock.run(3_000);
    const holder = runningOn(holders()[0] ?? '');
    for (const { store } of all) store.isDown = true;
    await clock.run(60_000);
    assert.deepEqual(holders(), []);
    assert.ok(
      all.every(({ lease }) => lease.holder === null),
      'no node knows it meanwhile',
    );
    for (const { store } of all) store.isDown = false;
    await clock.run(3_000);
    assert.deepEqual(holders(), [holder.node]);
    assert.equal(holder.lease.term, 1);
  });

  it('begins a new term with each start of the process', async () => {
    const { clock, holders, runningOn, start } = await nodes('a b');
    await clock.run(3_000);
    const holder = runningOn(holders()[0] ?? '');
    for (const each of ['a', 'b']) runningOn(each).lease.stop();
    const again = start(holder.node, 'second');
    await clock.run(3_000);
    assert.equal(again.lease.term, null);
    await clock.run(leaseMs);
    assert.equal(again.lease.term, 2);
  });

  it('is unknown for ten seconds after the orchestrator was removed', async () => {
    const { clock, holders, runningOn, active, all } = await nodes('a b c');
    await clock.run(3_000);
    const removed = runningOn(holders()[0] ?? '');
    active.delete(removed.node);
    await clock.run(1_500);
    const rest = all.filter((other) => other !== removed);
    assert.equal(removed.lease.term, null);
    assert.ok(rest.every(({ lease }) => lease.holder === null));
    await clock.run(vacancyMs - 3_000);
    assert.ok(rest.every(({ lease }) => lease.holder === null));
    await clock.run(4_500);
    assert.equal(rest.filter(({ lease }) => lease.term === 2).length, 1);
    assert.ok(rest.every(({ lease }) => lease.holder !== null && lease.holder !== removed.node));
  });

  it('has one holder at a time, and rising terms, whichever calls of the store fail or are late', async (t) => {
    const random = aSeed(t);
    const { clock, server, all } = await nodes('a b c', random);
    const terms = new Map<number, string>();
    await server.watch(orchestratorKey, (_, entry) => {
      assert.ok(entry);
      const { node, term } = entry.value as OrchestratorState;
      assert.equal(terms.get(term) ?? node, node, `two nodes in term ${term}`);
      assert.ok(term >= Math.max(0, ...terms.keys()), 'terms rise');
      terms.set(term, node);
    });
    for (let round = 0; round < 200; round++) {
      for (const { store } of all) {
        store.isDown = random(10) === 0;
        store.faults = {
          delayMaxMs: random(20) === 0 ? 8_000 : 50,
          stalePercent: random(20),
          lostRequestPercent: random(20),
          lostAnswerPercent: random(20),
          latePercent: random(5),
        };
      }
      await clock.run(random(8_000));
    }
    assert.ok(terms.size > 3, `${terms.size} terms`);
  });
});
