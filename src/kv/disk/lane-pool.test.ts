import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '#base/deferred.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { Lane } from './lane.ts';
import { LanePool } from './lane-pool.ts';

function aPool({ keepsIdle = true, sizeMax = 1 } = {}) {
  const running = new Set<number>();
  const clock = new ManualClock();
  let started = 0;
  const startLane = (): Lane => {
    const number = ++started;
    running.add(number);
    return {
      get hasEnded() {
        return !running.has(number);
      },
      call: () => Promise.reject(new Error('not called')),
      stop: async () => void running.delete(number),
    };
  };
  const pool = new LanePool(startLane, { keepsIdle, clock });
  pool.resize(sizeMax);
  return { pool, clock, running: () => [...running], end: (number: number) => running.delete(number) };
}

describe('a pool of lanes', () => {
  it('starts another lane only while all others are busy, up to its size', async () => {
    const { pool, running } = aPool({ sizeMax: 2 });
    const first = pool.enter();
    await pool.leave(first);
    assert.equal(pool.enter(), first);
    assert.deepEqual(running(), [1]);
    const second = pool.enter();
    assert.deepEqual(running(), [1, 2]);
    assert.equal(pool.enter(), first);
    assert.equal(pool.enter(), second);
    assert.deepEqual(running(), [1, 2]);
  });

  it('ends the lanes above a smaller size when their calls have ended', async () => {
    const { pool, running } = aPool({ sizeMax: 3 });
    const leases = [pool.enter(), pool.enter(), pool.enter()];
    pool.resize(1);
    assert.deepEqual(running(), [1, 2, 3]);
    for (const lease of leases) await pool.leave(lease);
    assert.deepEqual(running(), [1]);
    pool.enter();
    pool.enter();
    assert.deepEqual(running(), [1]);
  });

  it('that keeps no idle lanes ends each when its calls have ended', async () => {
    const { pool, running } = aPool({ keepsIdle: false });
    const [first, second] = [pool.enter(), pool.enter()];
    await pool.leave(first);
    assert.deepEqual(running(), [1]);
    await pool.leave(second);
    assert.deepEqual(running(), []);
  });

  it('uses a lane for as long as a call lasts', async () => {
    const { pool, running } = aPool({ keepsIdle: false });
    const read = deferred<string>();
    const used = pool.use(() => read.promise);
    assert.deepEqual(running(), [1]);
    read.resolve('text');
    assert.equal(await used, 'text');
    await Promise.resolve();
    assert.deepEqual(running(), []);
  });

  it('starts another lane in place of one that has ended, at most once a second', async () => {
    const { pool, clock, running, end } = aPool();
    const first = pool.enter();
    end(1);
    assert.notEqual(pool.enter(), first);
    await pool.leave(first);
    assert.deepEqual(running(), [2]);
    end(2);
    assert.equal(pool.enter().lane.hasEnded, true);
    assert.deepEqual(running(), []);
    await clock.advance(1000);
    assert.equal(pool.first().hasEnded, false);
    assert.deepEqual(running(), [3]);
  });

  it('uses other lanes in place of one that has ended', async () => {
    const { pool, running, end } = aPool({ sizeMax: 3 });
    const [first, second] = [pool.enter(), pool.enter()];
    await Promise.all([pool.leave(first), pool.leave(second)]);
    end(1);
    assert.equal(pool.enter(), second);
    end(2);
    const third = pool.enter();
    assert.deepEqual(running(), [3]);
    assert.deepEqual(pool.lanes, [third.lane]);
  });

  it('ends all lanes when it stops', async () => {
    const { pool, running } = aPool({ sizeMax: 2 });
    pool.first();
    pool.enter();
    pool.enter();
    await pool.stop();
    assert.deepEqual(running(), []);
  });
});
