import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { randomFrom } from '../../../test/support/random.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import { noLinkFaults, SimulatedNet } from '../../../test/support/simulated-net.ts';
import { type Heartbeat, Heartbeats, silentAfterMs } from './heartbeats.ts';

function nodes(names: string) {
  const clock = new SimulatedClock();
  const net = new SimulatedNet<Heartbeat>(clock, randomFrom(1));
  const members = new Set(names.split(' '));
  const start = (nodeId: string): Heartbeats => {
    const heartbeats = new Heartbeats({
      nodeId,
      clock,
      nodes: () => [...members],
      send: (to, heartbeat) => net.send(nodeId, to, heartbeat),
    });
    net.attach(nodeId, (from, heartbeat) => heartbeats.received(from, heartbeat));
    heartbeats.start();
    return heartbeats;
  };
  const all = new Map([...members].map((id) => [id, start(id)]));
  const of = (id: string): Heartbeats => all.get(id) ?? assert.fail(id);
  const downFor = (id: string): string[] => [...members].filter((other) => of(id).isDown(other));
  return { clock, net, members, of, downFor };
}

describe('heartbeats between managers', () => {
  it('find no node dead while all run', async () => {
    const { clock, of, downFor } = nodes('a b c');
    await clock.run(60_000);
    for (const id of ['a', 'b', 'c']) assert.deepEqual(downFor(id), []);
    assert.ok(of('a').receivesFrom('b') && of('a').receivesFrom('a'));
  });

  it('detect a failed node, and later its return, within seconds', async () => {
    const { clock, net, of, downFor } = nodes('a b c');
    await clock.run(10_000);
    of('c').stop();
    net.detach('c');
    await clock.run(silentAfterMs + 3_000);
    assert.deepEqual([downFor('a'), downFor('b')], [['c'], ['c']]);
    net.attach('c', (from, heartbeat) => of('c').received(from, heartbeat));
    of('c').start();
    await clock.run(3_000);
    assert.deepEqual([downFor('a'), downFor('b')], [[], []]);
  });

  it('count all nodes as received after a start, also those that were heard before a stop', async () => {
    const { clock, of, downFor } = nodes('a b');
    await clock.run(10_000);
    of('a').stop();
    of('b').stop();
    await clock.run(60_000);
    of('a').start();
    assert.deepEqual([downFor('a'), of('a').silentMs('b')], [[], 0]);
    await clock.run(silentAfterMs + 1_000);
    assert.deepEqual(downFor('a'), ['b']);
  });

  it('report for how long one connection is broken, and nothing about a failed node', async () => {
    const { clock, net, of } = nodes('a b c');
    await clock.run(10_000);
    net.cut('c', 'a');
    await clock.run(20_000);
    assert.ok(of('a').cutOffMs('c') >= 19_000 && of('b').cutOffMs('c') === 0);
    of('c').stop();
    net.detach('c');
    await clock.run(silentAfterMs + 3_000);
    assert.equal(of('a').cutOffMs('c'), 0);
  });

  it('compare the clocks, although single heartbeats were delayed', async () => {
    const { clock, of } = nodes('a b');
    const beat = (skewMs: number) => of('a').received('b', { hears: [], wallMs: clock.wallMs() + skewMs });
    of('b').stop();
    await clock.run(100);
    for (let i = 0; i < 5; i++) beat(-7_000);
    assert.equal(of('a').skewMs('b'), -7_000);
    beat(-6_500);
    for (let i = 0; i < 4; i++) beat(-30_000);
    assert.equal(of('a').skewMs('b'), -6_500);
    for (const skewMs of [7_000, 0, 6_900, 6_900, 6_900]) beat(skewMs);
    assert.equal(of('a').skewMs('b'), 7_000, 'a clock that is ahead');
    of('a').received('b', { hears: [] });
    assert.equal(of('a').skewMs('b'), null);
  });

  it('do not find a node dead whose heartbeats another node still receives', async () => {
    const { clock, net, of, downFor } = nodes('a b c');
    await clock.run(10_000);
    net.cut('c', 'a');
    await clock.run(20_000);
    assert.equal(of('a').receivesFrom('c'), false);
    assert.deepEqual(downFor('a'), []);
    net.cut('c', 'b');
    await clock.run(silentAfterMs + 3_000);
    assert.deepEqual(downFor('a'), ['c']);
  });

  it('show all other nodes as dead to a node that is cut off', async () => {
    const { clock, net, downFor } = nodes('a b c');
    await clock.run(10_000);
    for (const other of ['b', 'c']) {
      net.cut(other, 'a');
      net.cut('a', other);
    }
    await clock.run(20_000);
    assert.deepEqual([downFor('a'), downFor('b')], [['b', 'c'], ['a']]);
  });

  it('find no node dead because of some lost messages', async () => {
    const { clock, net, downFor } = nodes('a b');
    net.faults = { ...noLinkFaults, lostPercent: 20 };
    let down = 0;
    for (let second = 0; second < 100; second++) {
      await clock.run(1_000);
      down += downFor('a').length;
    }
    assert.ok(down <= 5, `${down}`);
  });

  it('discard a node that left, and ignore one that is no member', async () => {
    const { clock, of, members } = nodes('a b');
    await clock.run(5_000);
    members.delete('b');
    await clock.run(20_000);
    assert.equal(of('a').receivesFrom('b'), false);
    of('a').received('b', { hears: [] });
    assert.equal(of('a').receivesFrom('b'), false);
  });

  it('find no node dead directly after their start', () => {
    const { downFor } = nodes('a b');
    assert.deepEqual(downFor('a'), []);
  });
});
